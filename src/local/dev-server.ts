import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { type FileLock, ifMissing } from '../files.ts';
import { retentionDays } from '../temporal/rules/failover.ts';
import { answers, assertPortFree, loopbackAddress, privateAddress } from './ports.ts';
import { registerSearchAttributes, setRetention } from './prepare-namespace.ts';
import { DevServerFailed, reasonOf } from './run-command.ts';
import {
  describeProcess,
  lockDatabase,
  orphanOf,
  removeRecord,
  type ServerRecord,
  writeRecord,
} from './server-record.ts';

/** Measured on server 1.29: an activity costs 21 ms instead of 100, a short timer is 50 ms late instead of 1 s. */
const dynamicConfig = {
  'history.transferProcessorMaxPollRPS': 2000,
  'history.timerProcessorMaxTimeShift': '50ms',
  'system.enableActivityEagerExecution': true,
  // Priorities, and turns of organizations within one.
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  // The check would contact Temporal's servers.
  'frontend.enableServerVersionCheck': false,
  // The HTTP API, which nothing here uses, would answer a page of another site under any name, at a random port.
  'frontend.httpAllowedHosts': [],
};

/**
 * Arguments of `temporal server start-dev`: loopback only, tuned, no outside contact, a quiet log as JSON. In WAL mode a
 * program that reads the database, such as a backup, locks the server out of no commit. Once a commit has failed because
 * of a lock, server 1.29 refuses every transaction until it is started again: its only connection stays in the failed one.
 */
export function serverArguments({
  port,
  ui,
  namespace,
  dbFile,
}: Pick<Settings, 'port' | 'ui' | 'namespace' | 'dbFile'>): string[] {
  const [uiHost = '', uiPort = ''] = ui?.split(':') ?? [];
  return [
    'server',
    'start-dev',
    ...['--ip', '127.0.0.1', '--port', String(port)],
    ...(ui === null ? ['--headless'] : ['--ui-ip', uiHost, '--ui-port', uiPort]),
    ...['--namespace', namespace],
    ...['--log-level', 'warn', '--log-format', 'json', '--color', 'never'],
    ...(dbFile === undefined ? [] : ['--db-filename', dbFile, '--sqlite-pragma', 'journal_mode=WAL']),
    ...Object.entries(dynamicConfig).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
  ];
}

const logLimitBytes = 5_000_000;
const shownLines = 10;

/** Renames a long log to `<file>.old`, replacing the one before, so that the files stay small over many starts. */
export async function rotateLongLog(logFile: string): Promise<void> {
  const stats = await stat(logFile).catch(() => undefined);
  if (stats && stats.size > logLimitBytes) await rename(logFile, `${logFile}.old`);
}

/** The last lines of the log; empty when it cannot be read. */
async function lastLines(logFile: string): Promise<string[]> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).slice(-shownLines);
}

interface ProcessExit {
  /** Null when a signal ended it, or when it was not a child of this process, so that its code is unknown. */
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A server's process, started here or adopted. */
export interface ServerProcess {
  pid: number;
  startedAt: string;
  exited: Promise<ProcessExit>;
}

const pollMs = 500;
/** The environment passed to the server: no key or other secret stays readable in a long-lived process. */
const passedVariables = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ'];

/** A process group out of reach of a Ctrl-C, with the log as its output: it can outlive this process. */
export async function launchServer(program: string, args: readonly string[], logFile: string): Promise<ServerProcess> {
  await mkdir(dirname(logFile), { recursive: true });
  const log = await open(logFile, 'a', 0o600);
  try {
    const env = Object.fromEntries(passedVariables.map((name) => [name, process.env[name]]));
    const child = withPrivateFiles(() =>
      spawn(program, args, { detached: true, stdio: ['ignore', log.fd, log.fd], env }),
    );
    const exited = new Promise<ProcessExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    return { pid, startedAt: (await describeProcess(pid))?.startedAt ?? 'ended at once', exited };
  } finally {
    await log.close();
  }
}

/** Files of the started process are for this user alone: its database holds all inputs of workflows. */
function withPrivateFiles<T>(start: () => T): T {
  const before = process.umask(0o077);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

function watchServer(pid: number, startedAt: string): ServerProcess {
  const gone = async (): Promise<ProcessExit> => {
    while (await isRunning(pid, startedAt)) await sleep(pollMs);
    return { code: null, signal: null };
  };
  return { pid, startedAt, exited: gone() };
}

/** Asks the process to end, kills it after `graceMs`, and resolves when it is gone. */
export async function endServer({ pid, startedAt, exited }: ServerProcess, graceMs = 30_000): Promise<void> {
  const send = async (signal: 'SIGTERM' | 'SIGKILL') => {
    if (await isRunning(pid, startedAt)) process.kill(pid, signal);
  };
  const waiting = new AbortController();
  await send('SIGTERM');
  const inTime = await Promise.race([
    exited.then(() => true),
    sleep(graceMs, false, { signal: waiting.signal }).catch(() => false),
  ]);
  waiting.abort();
  if (!inTime) await send('SIGKILL');
  await exited;
}

/** For a docferry that ends at once, as at a second Ctrl-C: only one that was killed itself leaves its server behind. */
function killAtExit({ pid, exited }: ServerProcess): void {
  const kill = () => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  };
  process.once('exit', kill);
  void exited.then(() => process.off('exit', kill));
}

async function isRunning(pid: number, startedAt: string): Promise<boolean> {
  return (await describeProcess(pid))?.startedAt === startedAt;
}

type Readiness = Pick<Settings, 'port' | 'ui' | 'namespace' | 'searchAttributes'>;

const retryMs = 50;
const connectTimeoutMs = 5_000;

/**
 * Resolves when the server answers, its namespace has the wanted retention and search attributes, and the UI, if there is one, answers.
 * Rejects with the last reason after `limitMs`, or as soon as `signal` aborts.
 */
export async function waitUntilReady(wanted: Readiness, limitMs: number, signal?: AbortSignal): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  for (;;) {
    try {
      return await prepare(wanted);
    } catch (error) {
      signal?.throwIfAborted();
      if (performance.now() > giveUpAt) {
        throw new Error(`was not ready after ${Math.round(limitMs / 1000)} s (${reasonOf(error)})`, { cause: error });
      }
    }
    await sleep(retryMs);
  }
}

async function prepare({ port, ui, namespace, searchAttributes }: Readiness): Promise<void> {
  // A gRPC channel waits a second after a refused connection.
  if (!(await answers(port))) throw new Error(`nothing answers on port ${port}`);
  // A proxy cannot reach this machine's loopback.
  const channelArgs = { 'grpc.enable_http_proxy': 0 };
  const connection = await Connection.connect({
    address: loopbackAddress(port),
    connectTimeout: connectTimeoutMs,
    channelArgs,
  });
  try {
    await connection.withDeadline(Date.now() + 5_000, async () => {
      await setRetention(connection, namespace, retentionDays);
      await registerSearchAttributes(connection, namespace, searchAttributes);
    });
  } finally {
    await connection.close();
  }
  if (ui === null) return;
  // With NODE_USE_ENV_PROXY, `fetch` and the global agent would ask the proxy.
  const asked = get(`http://${ui}`, { agent: false, signal: AbortSignal.timeout(connectTimeoutMs) });
  const [answer]: IncomingMessage[] = await once(asked, 'response');
  answer?.destroy();
  if (answer?.statusCode !== 200) throw new Error(`the UI answered ${answer?.statusCode}`);
}

export interface DevServerOptions {
  binary: string;
  port?: number;
  /** Whether the UI runs too, unguarded, where no other program looks for it; false by default. */
  ui?: boolean;
  /** Where the state is kept; without it nothing is kept, and no later docferry can adopt the server. */
  dbFile?: string;
  namespace?: string;
  /** Names of search attributes that the namespace is to have, of type Keyword. */
  searchAttributes?: readonly string[];
  logFile: string;
  /** For the answer of a server that a killed docferry left; later it is replaced. A busy machine takes its time. */
  adoptWithinMs?: number;
}

interface DevServerExit extends ProcessExit {
  expected: boolean;
  lastLines: readonly string[];
}

/** A Temporal dev server that is ready. */
export interface DevServer {
  address: string;
  uiUrl: string | null;
  namespace: string;
  pid: number;
  /** Whether it was already running, left by a docferry that was killed. */
  adopted: boolean;
  /** Resolves when the process has ended for any reason; never rejects. */
  exited: Promise<DevServerExit>;
  /** Ends the server and frees its database; may be called again. */
  stop(): Promise<void>;
}

/** `ui` is its `host:port`; `dbFile` is absolute, undefined keeps everything in memory. */
type Settings = Required<Omit<DevServerOptions, 'dbFile' | 'ui'>> & { dbFile: string | undefined; ui: string | null };

const readyLimitMs = 180_000;
const unresponsiveGraceMs = 2_000;

/**
 * Starts a Temporal server on loopback (contracts.md, `up`), or adopts the server that a killed docferry left
 * on the same database and ports with the same program; an orphan that differs or does not answer is ended first. Throws
 * `DatabaseInUse`, `PortTaken`, `DataFolderNotWritable` or `DevServerFailed`.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const { ui = false, ...given } = options;
  const common = {
    port: 7233,
    namespace: 'default',
    searchAttributes: [],
    adoptWithinMs: 20_000,
    ...given,
    dbFile: options.dbFile === undefined ? undefined : resolve(options.dbFile),
  };
  const { dbFile } = common;
  const lock = dbFile === undefined ? undefined : await lockDatabase(dbFile);
  try {
    const record = dbFile === undefined ? undefined : await orphanOf(dbFile);
    // The address of an orphan's UI stays as it is.
    const settings: Settings = { ...common, ui: ui ? (record?.ui ?? (await privateAddress())) : null };
    const orphan = record === undefined ? undefined : await takeOrphan(settings, record);
    return control(settings, orphan ?? (await startNew(settings)), orphan !== undefined, lock);
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** The server that a killed docferry left, if it is the one to start; ends any other that it left. */
async function takeOrphan(settings: Settings, record: ServerRecord): Promise<ServerProcess | undefined> {
  const orphan = watchServer(record.pid, record.startedAt);
  const wanted = record.fingerprint === (await fingerprint(settings));
  const isReady = () =>
    waitUntilReady(settings, settings.adoptWithinMs).then(
      () => true,
      () => false,
    );
  if (wanted && (await isReady())) {
    await writeRecord({ ...record, owner: process.pid });
    killAtExit(orphan);
    return orphan;
  }
  // A server that does not answer will hardly react to SIGTERM.
  await endServer(orphan, wanted ? unresponsiveGraceMs : undefined);
  return undefined;
}

async function startNew(settings: Settings): Promise<ServerProcess> {
  const { binary, port, ui, dbFile, logFile } = settings;
  await assertPortFree(port, '--port');
  await rotateLongLog(logFile);
  // Earlier versions left a database that others could read.
  if (dbFile !== undefined) await chmod(dbFile, 0o600).catch(ifMissing(undefined));
  const server = await launchServer(binary, serverArguments(settings), logFile).catch((error: unknown) => {
    throw new DevServerFailed(`could not be started (${reasonOf(error)})`, logFile, []);
  });
  killAtExit(server);
  const ended = new AbortController();
  void server.exited.then(() => ended.abort());
  try {
    if (dbFile !== undefined) {
      const { pid, startedAt } = server;
      const owner = process.pid;
      await writeRecord({ pid, startedAt, port, ui, dbFile, fingerprint: await fingerprint(settings), owner });
    }
    await waitUntilReady(settings, readyLimitMs, ended.signal);
    return server;
  } catch (error) {
    const { code, signal } = ended.signal.aborted ? await server.exited : { code: null, signal: null };
    const how = signal === null ? `exit code ${code}` : `by ${signal}`;
    const what = ended.signal.aborted ? `ended at once (${how})` : reasonOf(error);
    await endServer(server);
    if (dbFile !== undefined) await removeRecord(dbFile);
    throw new DevServerFailed(what, logFile, await lastLines(logFile));
  }
}

function control(settings: Settings, server: ServerProcess, adopted: boolean, lock?: FileLock): DevServer {
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await endServer(server);
    if (settings.dbFile !== undefined) await removeRecord(settings.dbFile);
    lock?.release();
  };
  return {
    address: loopbackAddress(settings.port),
    uiUrl: settings.ui === null ? null : `http://${settings.ui}`,
    namespace: settings.namespace,
    pid: server.pid,
    adopted,
    exited: server.exited.then(async (exit) => ({
      ...exit,
      expected: stopping !== undefined,
      lastLines: await lastLines(settings.logFile),
    })),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Two servers with the same fingerprint are the same program with the same arguments. */
async function fingerprint(settings: Settings): Promise<string> {
  const program = await stat(settings.binary).catch(() => undefined);
  const parts = [settings.binary, program?.size, program?.mtimeMs, ...serverArguments(settings)];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
