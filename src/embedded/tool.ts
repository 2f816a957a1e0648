/** What a maker needs to put a program into the cache. */
export interface MakeContext {
  /** An empty folder; what is left in it becomes the program's folder in the cache. */
  folder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** One way of getting a program that is nowhere on the machine. */
export interface Maker {
  name: 'SDK download' | 'go install' | 'Maven';
  /** Leaves the tool's executable in the context's folder, or rejects with one readable line. */
  make(context: MakeContext): Promise<void>;
}

/** A program that docferry needs and may have to get by itself. */
export interface Tool {
  title: string;
  /** File name of the executable, on the PATH and in the cache. */
  executable: string;
  /** Environment variable that names the program explicitly. */
  variable: string;
  /** Folder inside the cache; carries the version, so that another version never meets it. */
  cacheName: string;
  makers: readonly Maker[];
  waysOut: readonly string[];
  /** Runs the program, returns its version, or rejects with the reason why it is of no use. */
  check(path: string, env: NodeJS.ProcessEnv): Promise<string>;
}
