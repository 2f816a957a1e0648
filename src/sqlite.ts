import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { backup, DatabaseSync, type StatementSyncInstance } from '@photostructure/sqlite';

/** A refusal or failure of SQLite by its own name: `SQLITE_BUSY`, `SQLITE_IOERR_WRITE`. */
export class SqliteError extends Error {
  override readonly name = 'SqliteError';
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type Row = Record<string, unknown>;

interface OpenOptions {
  /** How long a statement blocks this thread to wait for another connection's lock, in milliseconds. */
  timeout?: number;
  readOnly?: boolean;
  /** Throws `SQLITE_CANTOPEN` instead of making the file. */
  mustExist?: boolean;
}

/**
 * A connection to a SQLite file: the interface of `node:sqlite`, with errors that have SQLite's names (`SqliteError`).
 * Integers beyond 2^53 throw a `RangeError` when they are read.
 */
export class Database {
  readonly #connection: InstanceType<typeof DatabaseSync>;

  constructor(file: string, { timeout = 5_000, readOnly = false, mustExist = false }: OpenOptions = {}) {
    // The interface has no option that keeps SQLite from making the file; its addresses have one.
    const place = mustExist && !readOnly ? new URL(`${pathToFileURL(resolve(file))}?mode=rw`) : file;
    this.#connection = named(() => new DatabaseSync(place, { timeout, readOnly }));
  }

  get inTransaction(): boolean {
    return this.#connection.isTransaction;
  }

  /** Runs statements without parameters and results. */
  exec(sql: string): void {
    named(() => this.#connection.exec(sql));
  }

  /** Runs a pragma and returns the first value of its answer. */
  pragma(text: string): unknown {
    return Object.values(this.prepare(`pragma ${text}`).get() ?? {})[0];
  }

  /** A statement; `R` is what its rows are. */
  prepare<R extends object = Row>(sql: string): Statement<R> {
    return new Statement(named(() => this.#connection.prepare(sql)));
  }

  /** Makes a pure function known to the statements of this connection. */
  function(name: string, compute: (...values: unknown[]) => unknown): void {
    this.#connection.function(name, { deterministic: true }, compute);
  }

  /** Copies the database at one moment: all pages in one step, as between smaller ones every write would start again. */
  async backup(to: string): Promise<void> {
    await backup(this.#connection, to, { rate: 0x7fffffff }).catch((error: unknown) => {
      throw withName(error);
    });
  }

  /**
   * Closes the connection and rolls back an open transaction; closing it again does nothing. This release of the library
   * finalizes no statement (those for Node 22 can), so SQLite keeps the connection's lock on a file in WAL mode until the
   * garbage collector has found them. A connection that is alone therefore takes the file out of WAL mode first. Beside
   * other connections that fails, and the lock stays until the collection or the end of the process.
   */
  close(): void {
    if (!this.#connection.isOpen) return;
    try {
      if (this.inTransaction) this.exec('rollback');
      this.exec('pragma busy_timeout = 0; pragma journal_mode = delete');
    } catch {
      // Another connection uses the file, or it cannot be written: closing rolls back all the same.
    }
    named(() => this.#connection.close());
  }
}

/** A prepared statement; each method takes its parameters one by one or as one array. */
export class Statement<R extends object = Row> {
  readonly #statement: StatementSyncInstance;

  constructor(statement: StatementSyncInstance) {
    this.#statement = statement;
  }

  /** Whether it answers with rows. */
  get reader(): boolean {
    return this.#statement.columns().length > 0;
  }

  all(...parameters: readonly unknown[]): R[] {
    return named(() => this.#statement.all(...parameters.flat()));
  }

  get(...parameters: readonly unknown[]): R | undefined {
    return named(() => this.#statement.get(...parameters.flat()));
  }

  run(...parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return named(() => this.#statement.run(...parameters.flat()));
  }

  /** Reads row by row; the reading ends when the caller stops early. */
  *iterate(...parameters: readonly unknown[]): IterableIterator<R> {
    const rows = named(() => this.#statement.iterate(...parameters.flat()));
    try {
      for (let next = named(() => rows.next()); !next.done; next = named(() => rows.next())) yield next.value;
    } finally {
      rows.return?.();
    }
  }
}

function named<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw withName(error);
  }
}

/** An error of the library under SQLite's name; any other error as it is. */
function withName(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR')) return error;
  return new SqliteError(error.message, nameOf(error), { cause: error });
}

/** SQLite's primary results by number: the name, and the text that `sqlite3_errstr` gives. */
const results: Readonly<Record<number, readonly [name: string, text: string]>> = {
  1: ['SQLITE_ERROR', 'SQL logic error'],
  3: ['SQLITE_PERM', 'access permission denied'],
  4: ['SQLITE_ABORT', 'query aborted'],
  5: ['SQLITE_BUSY', 'database is locked'],
  6: ['SQLITE_LOCKED', 'database table is locked'],
  7: ['SQLITE_NOMEM', 'out of memory'],
  8: ['SQLITE_READONLY', 'attempt to write a readonly database'],
  9: ['SQLITE_INTERRUPT', 'interrupted'],
  10: ['SQLITE_IOERR', 'disk I/O error'],
  11: ['SQLITE_CORRUPT', 'database disk image is malformed'],
  13: ['SQLITE_FULL', 'database or disk is full'],
  14: ['SQLITE_CANTOPEN', 'unable to open database file'],
  15: ['SQLITE_PROTOCOL', 'locking protocol'],
  17: ['SQLITE_SCHEMA', 'database schema has changed'],
  18: ['SQLITE_TOOBIG', 'string or blob too big'],
  19: ['SQLITE_CONSTRAINT', 'constraint failed'],
  20: ['SQLITE_MISMATCH', 'datatype mismatch'],
  21: ['SQLITE_MISUSE', 'bad parameter or other API misuse'],
  23: ['SQLITE_AUTH', 'authorization denied'],
  25: ['SQLITE_RANGE', 'column index out of range'],
  26: ['SQLITE_NOTADB', 'file is not a database'],
};

/** The second half of the extended names, by the upper bytes of their number from 1 on. */
const extensions: Readonly<Record<string, string>> = {
  SQLITE_BUSY: 'RECOVERY SNAPSHOT TIMEOUT',
  SQLITE_READONLY: 'RECOVERY CANTLOCK ROLLBACK DBMOVED CANTINIT DIRECTORY',
  SQLITE_IOERR:
    'READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK DELETE_NOENT MMAP GETTEMPPATH CONVPATH VNODE AUTH BEGIN_ATOMIC COMMIT_ATOMIC ROLLBACK_ATOMIC DATA CORRUPTFS IN_PAGE',
  SQLITE_CORRUPT: 'VTAB SEQUENCE INDEX',
  SQLITE_CANTOPEN: 'NOTEMPDIR ISDIR FULLPATH CONVPATH DIRTYWAL SYMLINK',
  SQLITE_CONSTRAINT:
    'CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE',
};

/**
 * The library gives the number of a failure as `errcode`, except where rows are read (`all`, `iterate`). There the text
 * identifies it: SQLite changes its texts only for faulty statements and constraints.
 */
function nameOf(error: Error & { errcode?: unknown }): string {
  if (typeof error.errcode !== 'number') {
    const known = Object.values(results).find(([, text]) => error.message === text);
    return known?.[0] ?? (error.message.includes('constraint failed') ? 'SQLITE_CONSTRAINT' : 'SQLITE_ERROR');
  }
  const [name] = results[error.errcode & 0xff] ?? ['SQLITE_ERROR'];
  const extension = extensions[name]?.split(' ')[(error.errcode >> 8) - 1];
  return extension === undefined ? name : `${name}_${extension}`;
}
