import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { oldestServer } from '../temporal/rules/failover.ts';
import { buildWithGo } from './build-with-go.ts';
import { downloadWithSdk } from './download-with-sdk.ts';
import { type FailedAttempt, reasonOf, TemporalBinaryMissing } from './embedded-errors.ts';
import { runCommand, timeLimit } from './run-command.ts';
import type { Tool } from './tool.ts';
import { type CheckedProgram, makeCached, readCached, type ToolCache } from './tool-cache.ts';
import { userCacheFolder } from './user-cache.ts';

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

export interface ResolveOptions {
  /** Where docferry's own downloads and builds are kept; the user's cache folder by default. */
  cacheFolder?: string;
  /** Environment for the search (PATH, the explicit path) and for the programs run; the process's own by default. */
  env?: NodeJS.ProcessEnv;
  /** Called with a line of progress while something is downloaded or built. */
  onProgress?: (line: string) => void;
}

export interface ResolvedBinary extends CheckedProgram {
  /** Where it came from: the variable's name, `PATH`, `cache`, or the maker that has just made it. */
  from: string;
}

/**
 * Finds a Temporal program that works: explicit path, PATH, own cache, the SDK's download, then a build or download with
 * tools of the machine (architecture.md). An explicit path that does not work is an error at once. Throws
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

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
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
