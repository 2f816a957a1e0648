import { setTimeout as sleep } from 'node:timers/promises';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  type TransactionSettings,
} from 'kysely';
import { pathProblem } from '../../files.ts';
import type { Database } from '../../sqlite.ts';
import { FeedbackStoreUnavailable } from './feedback-store-unavailable.ts';

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
export async function whileBusy<T>(work: () => T | Promise<T>): Promise<T> {
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
