import { createHash } from 'node:crypto';
import { chmod, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { FileLock } from '../files/file-lock.ts';
import { ifMissing } from '../files/if-missing.ts';
import { retentionDays } from '../model/temporal-settings.ts';
import { DevServerFailed, reasonOf } from './embedded-errors.ts';
import { lockDatabase, orphanOf } from './lock-database.ts';
import { assertPortFree, loopbackAddress, privateAddress } from './ports.ts';
import type { SearchAttributes } from './prepare-namespace.ts';
import { serverArguments } from './server-arguments.ts';
import { lastLines, rotateLongLog } from './server-log.ts';
import { endServer, launchServer, type ProcessExit, type ServerProcess, watchServer } from './server-process.ts';
import { removeRecord, type ServerRecord, writeRecord } from './server-record.ts';
import { waitUntilReady } from './wait-until-ready.ts';

export interface DevServerOptions {
  /** The `temporal` program, as `resolveBinary` found it. */
  binary: string;
  port?: number;
  /** Whether the UI runs too, unguarded, where no other program looks for it; false by default. */
  ui?: boolean;
  /** Where the state is kept; without it nothing is kept, and no later docferry can adopt the server. */
  dbFile?: string;
  namespace?: string;
  searchAttributes?: SearchAttributes;
  /** How many days closed workflows are kept. */
  retentionDays?: number;
  logFile: string;
  /** For the answer of a server that a killed docferry left; later it is replaced. A busy machine takes its time. */
  adoptWithinMs?: number;
}

export interface DevServerExit extends ProcessExit {
  /** Whether `stop` ended the server. */
  expected: boolean;
  lastLines: readonly string[];
}

/** A Temporal dev server that is ready. */
export interface DevServer {
  address: string;
  /** Null without a UI. */
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
    searchAttributes: {},
    retentionDays,
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
  if (wanted && (await becomesReady(settings))) {
    await writeRecord({ ...record, owner: process.pid });
    return orphan;
  }
  // A server that does not answer will hardly react to SIGTERM.
  await endServer(orphan, wanted ? unresponsiveGraceMs : undefined);
  return undefined;
}

function becomesReady(settings: Settings): Promise<boolean> {
  return waitUntilReady(settings, settings.adoptWithinMs).then(
    () => true,
    () => false,
  );
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
    const what = ended.signal.aborted ? `ended at once (${describeExit(await server.exited)})` : reasonOf(error);
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

function describeExit({ code, signal }: ProcessExit): string {
  return signal === null ? `exit code ${code}` : `by ${signal}`;
}
