import { access, chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import envPaths from 'env-paths';
import { errorCode, type FileLock, isExecutable, tryLock } from '../files.ts';
import { oldestServer } from '../temporal/rules/failover.ts';
import {
  type FailedAttempt,
  type MakeContext,
  reasonOf,
  runCommand,
  TemporalBinaryMissing,
  type Tool,
  timeLimit,
} from './run-command.ts';

const limitMs = 20 * 60_000;
const reportEveryMs = 5_000;

/** Builds the `temporal` CLI of a version like `1.5.1` from source with the Go on the PATH (about 2 minutes from scratch). */
async function buildWithGo(version: string, { folder, env, onProgress }: MakeContext): Promise<void> {
  let packages = 0;
  let reportedAt = performance.now();
  const onLine = (line: string) => {
    packages += line.startsWith('go: ') ? 0 : 1;
    if (performance.now() - reportedAt < reportEveryMs) return;
    reportedAt = performance.now();
    onProgress(packages === 0 ? line : `go install: ${packages} packages compiled`);
  };
  const linkerFlags = `-s -w -X github.com/temporalio/cli/temporalcli.Version=${version}`;
  const args = ['install', '-v', '-ldflags', linkerFlags, `github.com/temporalio/cli/cmd/temporal@v${version}`];
  await runCommand('go', args, { env: { ...env, GOBIN: folder }, cwd: folder, signal: timeLimit(limitMs), onLine });
}

interface SdkDownload {
  method: 'createLocal' | 'createTimeSkipping';
  /** Release to get, e.g. `v1.5.1`. */
  version: string;
  executable: string;
}

/** The SDK's download has no time limit and cannot be stopped: a separate process, which also starts the server. */
const program = `
const [, sdk, method, downloadDir, version] = process.argv;
const { TestWorkflowEnvironment } = require(sdk);
TestWorkflowEnvironment[method]({ server: { executable: { type: 'cached-download', downloadDir, version } } })
  .then((environment) => environment.teardown())
  .then(() => process.exit(0), (error) => {
    process.stderr.write(String(error.message).split('\\n')[0] + '\\n', () => process.exit(1));
  });
`;

/**
 * Gets a server through the SDK's own download (temporal.download; the system's proxy and certificates are honoured)
 * and leaves it in the context's folder. Fails after `stallMs` milliseconds without a new byte.
 */
export async function downloadWithSdk(download: SdkDownload, context: MakeContext, stallMs = 30_000): Promise<void> {
  const { folder, env, onProgress } = context;
  const ended = new AbortController();
  const watching = watchDownload(folder, stallMs, onProgress, ended);
  try {
    const sdk = createRequire(import.meta.url).resolve('@temporalio/testing');
    const args = ['-e', program, sdk, download.method, folder, download.version];
    // The server it starts is on loopback, which no proxy reaches.
    const no_proxy = [env.no_proxy ?? env.NO_PROXY, '127.0.0.1'].filter(Boolean).join(',');
    const options = { env: { ...env, no_proxy }, cwd: folder, signal: ended.signal };
    await runCommand(process.execPath, args, options).catch((error: unknown) => {
      throw new Error(shortReason(reasonOf(error)));
    });
  } finally {
    ended.abort();
    await watching;
  }
  const [file, ...others] = await readdir(folder);
  if (file === undefined || others.length > 0) throw new Error('the SDK reported success but left no single file');
  await rename(join(folder, file), join(folder, download.executable));
  await chmod(join(folder, download.executable), 0o755);
}

/** Aborts `ended` when the bytes in `folder` stop growing for `stallMs`; ends when `ended` is aborted. */
async function watchDownload(
  folder: string,
  stallMs: number,
  onProgress: (line: string) => void,
  ended: AbortController,
): Promise<void> {
  let bytes = 0;
  let grewAt = performance.now();
  while (!ended.signal.aborted) {
    await sleep(Math.min(1000, stallMs / 2), undefined, { signal: ended.signal }).catch(() => undefined);
    const now = await bytesIn(folder);
    if (now > bytes) {
      bytes = now;
      grewAt = performance.now();
      onProgress(`downloading: ${(bytes / 1e6).toFixed(0)} MB`);
    } else if (performance.now() - grewAt > stallMs) {
      ended.abort(new Error(`no data for ${Math.round(stallMs / 1000)} s`));
    }
  }
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (stats) => stats.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The native error repeats its whole chain of causes, address included; the last cause is enough. */
function shortReason(message: string): string {
  return message.split(/error sending request for url \([^()]*\): /).at(-1) ?? message;
}

interface CheckedProgram {
  path: string;
  version: string;
}

interface ToolCache {
  folder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** The cached program; rejects with the reason when it is missing or does not work. */
async function readCached(tool: Tool, cache: ToolCache): Promise<CheckedProgram> {
  const path = join(cache.folder, tool.cacheName, tool.executable);
  await access(path).catch((error: unknown) => {
    throw errorCode(error) === 'ENOENT' ? new Error('nothing cached yet') : error;
  });
  return { path, version: await tool.check(path, cache.env) };
}

/**
 * Puts the program into the cache with the first of its makers that works: made and checked in a temporary folder, then
 * renamed, so that no other process ever sees half of it. Of several processes one works and the others wait for it. Adds
 * the reason of every maker that failed to `tried`; returns undefined when all failed.
 */
async function makeCached(
  tool: Tool,
  cache: ToolCache,
  tried: FailedAttempt[],
): Promise<(CheckedProgram & { maker: string }) | undefined> {
  await mkdir(cache.folder, { recursive: true });
  const lock = await waitForLock(tool, cache);
  try {
    const made = await readCached(tool, cache).catch(() => undefined);
    if (made) return { ...made, maker: 'cache' };
    await removeUnfinished(tool, cache);
    for (const maker of tool.makers) {
      cache.onProgress(`${tool.title}: trying ${maker.name}`);
      const folder = await mkdtemp(join(cache.folder, unfinishedPrefix(tool)));
      try {
        const onProgress = (line: string) => cache.onProgress(`${tool.title}: ${line}`);
        await maker.make({ folder, env: cache.env, onProgress });
        const version = await tool.check(join(folder, tool.executable), cache.env);
        const target = join(cache.folder, tool.cacheName);
        await rm(target, { recursive: true, force: true });
        await rename(folder, target);
        cache.onProgress(`${tool.title}: ready (${version})`);
        return { path: join(target, tool.executable), version, maker: maker.name };
      } catch (error) {
        tried.push({ step: maker.name, reason: reasonOf(error) });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
    return undefined;
  } finally {
    lock.release();
  }
}

async function waitForLock(tool: Tool, cache: ToolCache): Promise<FileLock> {
  const file = join(cache.folder, `${tool.cacheName}.lock`);
  for (let waits = 0; ; waits++) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (waits === 0) cache.onProgress(`${tool.title}: waiting for another process to get it`);
    await sleep(300);
  }
}

const unfinishedPrefix = (tool: Tool) => `.${tool.cacheName}-`;

/** Clears what a killed process left; this process has the lock, so no other is at work. */
async function removeUnfinished(tool: Tool, cache: ToolCache): Promise<void> {
  for (const name of await readdir(cache.folder)) {
    if (name.startsWith(unfinishedPrefix(tool))) await rm(join(cache.folder, name), { recursive: true, force: true });
  }
}

/** The folder in the user's cache for what docferry downloads or builds. */
export function userCacheFolder(): string {
  return envPaths('docferry', { suffix: '' }).cache;
}

const cliVersion = '1.5.1';

const checkLimitMs = 30_000;

/** The dev server: the `temporal` command line, which carries a whole server with its UI. */
export const devServerTool: Tool = {
  title: 'Temporal dev server',
  executable: 'temporal',
  variable: 'TEMPORAL_CLI_PATH',
  cacheName: `temporal-cli-${cliVersion}`,
  makers: [
    {
      name: 'SDK download',
      make: (context) =>
        downloadWithSdk({ method: 'createLocal', version: `v${cliVersion}`, executable: 'temporal' }, context),
    },
    { name: 'go install', make: (context) => buildWithGo(cliVersion, context) },
  ],
  waysOut: [
    `install the Temporal CLI (server ${oldestServer.join('.')} or newer) and put it on the PATH, or set TEMPORAL_CLI_PATH to it`,
    'let this machine reach https://temporal.download (HTTPS_PROXY is honoured)',
    'install Go 1.25 or newer and let it reach a module proxy (GOPROXY); docferry then builds the CLI once',
    'use a Temporal cluster of your own: set temporal.address and start with --no-server',
  ],
  check: checkCli,
};

interface ResolveOptions {
  cacheFolder?: string;
  /** Environment for the search (PATH, the explicit path) and for the programs run; the process's own by default. */
  env?: NodeJS.ProcessEnv;
  /** Called with a line of progress while something is downloaded or built. */
  onProgress?: (line: string) => void;
}

interface ResolvedBinary extends CheckedProgram {
  /** Where it came from: the variable's name, `PATH`, `cache`, or the maker that has just made it. */
  from: string;
}

/**
 * Finds a Temporal program that works: explicit path, PATH, own cache, the SDK's download, then a build or download with
 * tools of the machine. An explicit path that does not work is an error at once. Throws
 * `TemporalBinaryMissing` with every attempt.
 */
export async function resolveBinary(tool: Tool, options: ResolveOptions = {}): Promise<ResolvedBinary> {
  const env = options.env ?? process.env;
  const cache: ToolCache = {
    folder: options.cacheFolder ?? userCacheFolder(),
    env,
    onProgress: options.onProgress ?? (() => undefined),
  };
  const tried: FailedAttempt[] = [];
  const missing = () => new TemporalBinaryMissing(tool.title, tried, tool.waysOut);
  const attempt = async <T>(step: string, find: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await find();
    } catch (error) {
      tried.push({ step, reason: reasonOf(error) });
      return undefined;
    }
  };

  const explicit = env[tool.variable];
  if (explicit) {
    const found = await attempt(tool.variable, () => checkExplicit(tool, resolve(explicit), env));
    if (!found) throw missing();
    return { ...found, from: tool.variable };
  }
  const onPath = await attempt('PATH', () => findOnPath(tool, env));
  if (onPath) return { ...onPath, from: 'PATH' };
  const cached = await attempt(`cache ${cache.folder}`, () => readCached(tool, cache));
  if (cached) return { ...cached, from: 'cache' };
  const made = await attempt(`cache ${cache.folder}`, () => makeCached(tool, cache, tried));
  if (!made) throw missing();
  return { path: made.path, version: made.version, from: made.maker };
}

async function checkExplicit(tool: Tool, path: string, env: NodeJS.ProcessEnv): Promise<CheckedProgram> {
  if (!(await isExecutable(path))) throw new Error(`${path} is not an executable file`);
  return { path, version: await tool.check(path, env) };
}

async function findOnPath(tool: Tool, env: NodeJS.ProcessEnv): Promise<CheckedProgram> {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const path = join(folder, tool.executable);
    if (isAbsolute(path) && (await isExecutable(path))) return { path, version: await tool.check(path, env) };
  }
  throw new Error(`no ${tool.executable} there`);
}

async function checkCli(path: string, env: NodeJS.ProcessEnv): Promise<string> {
  const output = (await runCommand(path, ['--version'], { env, signal: timeLimit(checkLimitMs) })).join(' ');
  const server = /Server (\d+)\.(\d+)[.\d]*/.exec(output);
  if (!server) throw new Error(`${path} is not a Temporal CLI with a server in it (it says: ${output.slice(0, 80)})`);
  const [major, minor] = [Number(server[1]), Number(server[2])];
  if (major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1])) {
    throw new Error(`${path} is too old: ${server[0]}, at least ${oldestServer.join('.')} is needed`);
  }
  return output.replace(/^temporal version /, '');
}
