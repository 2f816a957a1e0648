/** What a maker needs to put a program into the cache. */
export interface MakeContext {
  /** An empty folder, which becomes the program's folder in the cache. */
  folder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** One way to get a program that is not on the machine. */
export interface Maker {
  name: 'SDK download' | 'go install' | 'go build' | 'Maven';
  /** Leaves the tool's executable in the context's folder, or rejects with one readable line. */
  make(context: MakeContext): Promise<void>;
}

/** A program that docferry needs and may have to download or build. */
export interface Tool {
  title: string;
  /** File name of the executable, on the PATH and in the cache. */
  executable: string;
  /** Environment variable that names the program explicitly. */
  variable: string;
  /** Folder inside the cache, named with the version so that versions never mix. */
  cacheName: string;
  makers: readonly Maker[];
  waysOut: readonly string[];
  /** Runs the program and returns its version, or rejects with the reason why it cannot be used. */
  check(path: string, env: NodeJS.ProcessEnv): Promise<string>;
}
