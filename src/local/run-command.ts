import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { errorCode } from '../files.ts';
import { ExplainedError } from '../rules/errors.ts';

/** Programs, folders, proxies, certificate authorities and languages. */
const needed: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'TMPDIR',
  'TMP',
  'TEMP',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'JAVA_HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'USERPROFILE',
  'LOCALAPPDATA',
  'APPDATA',
  'SYSTEMROOT',
  'PATHEXT',
  'COMSPEC',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'NODE_USE_ENV_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
]);

/** Go's own settings, such as GOPROXY; not GOOGLE_… */
const ofGo = /^(GO|CGO_)[A-Z0-9]+$/;

/** What a program that builds, downloads or looks at processes needs of an environment: no key or other secret of docferry. */
function neededVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isNeeded = (name: string) => needed.has(name.toUpperCase()) || ofGo.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isNeeded(name)));
}

interface CommandOptions {
  /** The command gets what it needs of it (`neededVariables`); its PATH also finds the command. */
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Ends the command; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  onLine?: (line: string) => void;
}

const keptLines = 20;

/** The last lines a command printed. Rejects with one readable line unless it ends with code 0 in time. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<readonly string[]> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: neededVariables(options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (line.trim() === '') return;
      lines.push(line);
      if (lines.length > keptLines) lines.shift();
      options.onLine?.(line);
    });
  }
  let stop = () => {};
  try {
    const ending = await new Promise<string | number>((resolve, reject) => {
      stop = () => {
        child.kill('SIGKILL');
        child.stdout.destroy();
        child.stderr.destroy();
        reject(options.signal?.reason);
      };
      options.signal?.addEventListener('abort', stop, { once: true });
      if (options.signal?.aborted) stop();
      child.on('error', (error) =>
        reject(errorCode(error) === 'ENOENT' ? new Error(`no program \`${command}\` was found`) : error),
      );
      child.on('close', (code, signal) => resolve(code ?? signal ?? 'an unknown end'));
    });
    if (ending !== 0) throw new Error(`${command} ended with ${ending}: ${lines.slice(-3).join(' / ') || 'no output'}`);
    return lines;
  } finally {
    options.signal?.removeEventListener('abort', stop);
  }
}

/** A signal that aborts after `ms` milliseconds with a readable reason. */
export function timeLimit(ms: number): AbortSignal {
  const controller = new AbortController();
  const seconds = Math.round(ms / 1000);
  setTimeout(() => controller.abort(new Error(`did not end within ${seconds} s`)), ms).unref();
  return controller.signal;
}

/** What a maker needs to put a program into the cache. */
export interface MakeContext {
  /** An empty folder, which becomes the program's folder in the cache. */
  folder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

interface Maker {
  name: 'SDK download' | 'go install' | 'go build' | 'Maven' | 'pip download';
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

/** A failure of the embedded Temporal server that a person can fix. */
class EmbeddedError extends ExplainedError {
  readonly code: string;

  constructor(code: string, message: string, hint: string, options?: ErrorOptions) {
    super(message, hint, options);
    this.name = code;
    this.code = code;
  }
}

/** An attempt to find or make a program, and why it failed. */
export interface FailedAttempt {
  step: string;
  reason: string;
}

/** No usable Temporal program was found, downloaded or built. */
export class TemporalBinaryMissing extends EmbeddedError {
  readonly tried: readonly FailedAttempt[];

  constructor(title: string, tried: readonly FailedAttempt[], waysOut: readonly string[]) {
    const lines = tried.map(({ step, reason }) => `\n  - ${step}: ${reason}`);
    super(
      'TemporalBinaryMissing',
      `no usable ${title}. Tried:${lines.join('')}`,
      `do one of these:${waysOut.map((way) => `\n  - ${way}`).join('')}`,
    );
    this.tried = tried;
  }
}

/** The folder of the server's database, or the database itself, cannot be written. */
export class DataFolderNotWritable extends EmbeddedError {
  constructor(path: string, cause: unknown) {
    const code = errorCode(cause);
    super(
      'DataFolderNotWritable',
      `cannot write ${path}${code === undefined ? '' : ` (${code})`}`,
      'make it writable for this user, or keep the database elsewhere with --db',
      { cause },
    );
  }
}

/** Another process that is still alive runs the server of this database. */
export class DatabaseInUse extends EmbeddedError {
  constructor(dbFile: string, owner: number | undefined) {
    super(
      'DatabaseInUse',
      `${dbFile} is in use by another docferry${owner === undefined ? '' : ` (process ${owner})`}`,
      'stop that one first; two that share an API key exceed its limit, so a second needs a folder and a key of its own',
    );
  }
}

/** The server ended or did not become ready. */
export class DevServerFailed extends EmbeddedError {
  constructor(what: string, logFile: string, lastLines: readonly string[]) {
    const shown = lastLines.map((line) => `\n  ${line}`).join('');
    super('DevServerFailed', `the Temporal server ${what}${shown && `. Last lines:${shown}`}`, `see ${logFile}`);
  }
}

/** One line saying what went wrong, for lists of reasons. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
