import { once } from 'node:events';
import { mkdir, open, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  sql,
  type TransactionSettings,
} from 'kysely';
import { errorCode, ifMissing, pathProblem } from '../../files.ts';
import { Database } from '../../sqlite.ts';
import { recentlyScrubbed } from '../privacy/apply-privacy.ts';
import { keepEverything, type Privacy } from '../privacy/privacy.ts';
import type { OpenAudit } from './audit-records.ts';
import { auditIn, type FeedbackStore, sqlFeedbackStore } from './feedback-store.ts';
import { FeedbackStoreUnavailable, withoutAudit } from './feedback-store-unavailable.ts';
import { migrate, newerTables, type SchemaState, schemaState } from './migrations.ts';
import { addDocumentKey } from './queries.ts';
import { type Succession, succeed } from './store-lineage.ts';
import type { Db, FeedbackDatabase } from './tables.ts';

/** How long a statement waits for another connection's lock before it fails with `SQLITE_BUSY`. */
const longestWaitMs = 10_000;

/**
 * SQLite whose transactions begin as writers (`begin immediate`). A transaction that begins as a reader and writes
 * later fails at once if another process wrote in between, however long it was ready to wait. `read only` transactions
 * begin as readers: in WAL mode they see one snapshot and do not block writers. Waiting for a lock does not block the
 * event loop (SQLite's own `busy_timeout` would), so heartbeats continue. Errors pass through `explain`.
 */
export function immediateSqliteDialect(database: Database, explain: (error: unknown) => unknown): Dialect {
  return Object.assign(new SqliteDialect({ database }), {
    createDriver: () => new ImmediateSqliteDriver(database, explain),
    createAdapter: () => new TransactionalDdlAdapter(),
  });
}

class ImmediateSqliteDriver extends SqliteDriver {
  readonly #database: Database;
  readonly #explain: (error: unknown) => unknown;

  constructor(database: Database, explain: (error: unknown) => unknown) {
    super({ database });
    this.#database = database;
    this.#explain = explain;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    return {
      executeQuery: async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
        try {
          return await whileBusy(() => connection.executeQuery<R>(query));
        } catch (error) {
          throw this.#explain(error);
        }
      },
      streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
    };
  }

  override async beginTransaction(connection: DatabaseConnection, settings?: TransactionSettings): Promise<void> {
    const kind = settings?.accessMode === 'read only' ? 'deferred' : 'immediate';
    await connection.executeQuery(CompiledQuery.raw(`begin ${kind}`));
  }

  /** After some errors SQLite has already ended the transaction; rolling back again would hide the error. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}

/** A migration that is cut off leaves nothing behind. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Repeats `work` while another connection holds the lock it needs. */
async function whileBusy<T>(work: () => T | Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + longestWaitMs;
  for (let waitMs = 2; ; waitMs = Math.min(waitMs * 2, 50)) {
    try {
      return await work();
    } catch (error) {
      if (!sqliteCode(error).startsWith('SQLITE_BUSY') || performance.now() > giveUpAt) throw error;
    }
    await sleep(waitMs);
  }
}

/** The code of an error of SQLite (`SQLITE_FULL`) or of the file system (`ENOSPC`); empty when it has none. */
function sqliteCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

const elsewhere = 'or name another file in store.feedback';

/** What is wrong and what to do, by the first letters of the error's code, where SQLite says more than the system. */
const problems: readonly (readonly [code: string, problem: string, fix: string])[] = [
  ['EEXIST', 'a part of its path is a file, not a folder', 'Correct the path in store.feedback.'],
  ['SQLITE_NOTADB', 'the file is not a SQLite database', `Move it away, ${elsewhere}.`],
  [
    'SQLITE_IOERR',
    'reading or writing it failed',
    'Check the disk; the file has to be on a local one, not a network share.',
  ],
  ['SQLITE_CORRUPT', 'it is damaged', 'Restore a backup, or move it away and run a sweep.'],
  [
    'SQLITE_BUSY',
    'another program keeps it locked',
    'End the transaction that a database browser or script left open.',
  ],
];

/** An error of the file or its folder in words for a person; any other error as it is. Never carries content. */
export function explainSqliteProblem(file: string, error: unknown): unknown {
  const code = sqliteCode(error);
  const known = problems.find(([start]) => code.startsWith(start));
  if (known) return new FeedbackStoreUnavailable(file, `${known[1]} (${code})`, known[2], { cause: error });
  const problem = pathProblem(error);
  if (problem === null) return error;
  const fix = `${problem.fix[0]?.toUpperCase()}${problem.fix.slice(1)}, ${elsewhere}.`;
  return new FeedbackStoreUnavailable(file, `it ${problem.what}`, fix, { cause: error });
}

/**
 * What the thread does, in JavaScript that needs no build. `optimize` rewrites the index of words, whose pages keep
 * beginnings of removed words. The checkpoint does not wait for readers that block it.
 */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const database = new (require(workerData.library).DatabaseSync)(workerData.file, { timeout: workerData.longestWaitMs });
database.exec(\`pragma fullfsync = ON;
  pragma secure_delete = ON;
  pragma cache_size = -16000;
  begin immediate;
  insert into search_words (search_words) values ('optimize');
  insert into search_words (search_words, rank) values ('secure-delete', 1);
  commit;
  vacuum\`);
database.prepare('update search_progress set cleaned_at = ?').run(workerData.at);
database.exec('pragma busy_timeout = 0');
const { busy } = database.prepare('pragma wal_checkpoint(truncate)').get();
database.close();
parentPort.postMessage(busy);
`;

/**
 * Rewrites a feedback database of SQLite, so that neither the file nor its log keeps removed bytes: `secure_delete`
 * overwrites what is removed, but not the copies that SQLite leaves behind when it moves rows to another page of its
 * tree. False when a reader keeps the log from being emptied. Takes seconds for a million entries, in a thread, during
 * which this process can do everything but write to the store. Throws what SQLite throws.
 */
async function rewriteFile(file: string): Promise<boolean> {
  const library = createRequire(import.meta.url).resolve('@photostructure/sqlite');
  const workerData = { library, file, longestWaitMs, at: new Date().toISOString() };
  const [busy] = await once(new Worker(program, { eval: true, workerData }), 'message');
  return busy === 0;
}

/**
 * Opens the feedback store in a SQLite file, making the file, its folder and its tables where they are missing. Only
 * this user can read what it makes, but for a folder that others must be able to enter (`sharedFolder`). Several
 * processes of one machine may open it; the file must be on a local disk. SQLite runs in the calling thread: a page of
 * 100 entries blocks it for a few milliseconds. Throws `FeedbackStoreUnavailable`, and so do the store's methods when
 * the file becomes unusable later.
 */
export async function openSqliteFeedbackStore(
  file: string,
  privacy: Privacy = keepEverything,
  { sharedFolder = false }: { sharedFolder?: boolean } = {},
): Promise<FeedbackStore> {
  return explaining(file, async (path) => {
    await makeFolder(dirname(path), sharedFolder);
    const db = await openDatabase(path);
    return sqlFeedbackStore(db, { place: path, privacy, scrub: (how) => scrub(db, path, how) });
  });
}

/** Opens the audit of an existing store, and changes no table. Throws as `openSqliteFeedbackStore` does. */
export async function openSqliteAudit(file: string): Promise<OpenAudit> {
  return explaining(file, async (path) => {
    const found = await stat(path).catch(ifMissing(null));
    if (found !== null) return auditIn(await openDatabase(path, 'as they are'));
    const fix = "Run the command where the workers' store is, or start a worker here: it makes the file.";
    throw new FeedbackStoreUnavailable(path, 'this machine has no such file', fix);
  });
}

/** Gives a copy of a feedback store its own identity (`succeed`). Throws as `openSqliteFeedbackStore` does. */
export async function succeedSqliteStore(file: string, reason: Succession, at: Date): Promise<void> {
  await explaining(file, async (path) => {
    const db = await openDatabase(path);
    await db
      .transaction()
      .execute((trx) => succeed(trx, reason, at))
      .finally(() => db.destroy());
  });
}

async function explaining<Result>(file: string, work: (path: string) => Promise<Result>): Promise<Result> {
  const path = resolve(file);
  try {
    return await work(path);
  } catch (error) {
    throw explainSqliteProblem(path, error);
  }
}

/** The caller closes it. Tables `as they are` must exist already and are not migrated. */
async function openDatabase(path: string, tables: 'migrated' | 'as they are' = 'migrated'): Promise<Db> {
  await refuseFolder(path);
  await makePrivate(path);
  // No waiting inside SQLite: `whileBusy` waits without blocking the thread.
  const database = new Database(path, { timeout: 0 });
  try {
    const explain = (error: unknown) => explainSqliteProblem(path, error);
    const db = new Kysely<FeedbackDatabase>({ dialect: immediateSqliteDialect(database, explain) });
    const state = await ownState(path, db);
    if (tables === 'as they are' && state === 'empty') throw withoutAudit(path);
    await whileBusy(() => configure(database));
    if (tables === 'migrated') await migrate(db);
    return db;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * `synchronous = FULL`: in WAL mode a kill -9 loses nothing either way, but with NORMAL a power cut could take back
 * several committed pages, and even a pass reported as finished; S2 allows the page in flight only. It costs one
 * fsync a page, which a budget of 100 requests an hour never notices. `fullfsync` makes macOS write through to the
 * medium; other systems ignore it. `secure_delete`: what is removed or replaced is overwritten with zeros; copies that
 * SQLite leaves behind when it moves rows are left to `rewriteFile`. A cache of 16 MB holds the upper levels of the
 * indexes of a million entries.
 */
function configure(database: Database): void {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma('fullfsync = ON');
  database.pragma('foreign_keys = ON');
  database.pragma('secure_delete = ON');
  database.pragma('cache_size = -16000');
  addDocumentKey(database);
}

/** Scrubs removed bytes from the file and its log; `daily`: from the file at most once a day. */
async function scrub(db: Db, path: string, how: 'now' | 'daily'): Promise<boolean> {
  try {
    if (how === 'now' || !(await recentlyScrubbed(db))) return await rewriteFile(path);
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
    return rows.every(({ busy }) => busy === 0);
  } catch {
    // Another process has a lock, or there is no space for a second file.
    return false;
  }
}

/** Only the folder itself: those around it may hold something else. */
async function makeFolder(folder: string, shared: boolean): Promise<void> {
  await mkdir(shared ? folder : dirname(folder), { recursive: true });
  if (shared) return;
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
}

/** SQLite gives its journals the mode of the database, so a new one is made before SQLite does. */
async function makePrivate(path: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600).catch((error: unknown) => {
    if (errorCode(error) === 'EEXIST') return null;
    throw error;
  });
  await handle?.close();
}

async function refuseFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) {
    throw new FeedbackStoreUnavailable(path, 'it is a folder', 'Name a file in store.feedback.');
  }
}

/** The state of a database; throws where it is newer than this version or another program's. */
async function ownState(path: string, db: Db): Promise<SchemaState> {
  const found = await db.introspection.getTables({ withInternalKyselyTables: true });
  const state = await schemaState(db, new Set(found.map(({ name }) => name)));
  if (state === 'newer') throw newerTables(path);
  if (state === 'foreign') {
    throw new FeedbackStoreUnavailable(
      path,
      "it holds another program's tables",
      'Name a file of its own for docferry in store.feedback.',
    );
  }
  return state;
}
