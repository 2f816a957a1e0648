import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../sqlite.ts';
import { openAlone } from './copy-database.ts';
import { FeedbackStoreUnavailable } from './feedback-store-unavailable.ts';
import type { PostgresPlace } from './postgres-store.ts';
import { withPostgresDatabase } from './postgres-store.ts';
import { batchesOf } from './queries.ts';
import { openSqliteFeedbackStore } from './sqlite-store.ts';
import { succeed } from './store-lineage.ts';
import { type Db, type FeedbackDatabase, ourTables, type Trx } from './tables.ts';

/** A row of either database by column. */
type Row = Readonly<Record<string, unknown>>;

const modulus = 1n << 256n;

/** Count of rows and sum of their SHA-256, in any order. Values count as text, as PostgreSQL hands out `bigint`. */
class RowsDigest {
  readonly #columns: readonly string[];
  #sum = 0n;
  rows = 0;

  constructor(columns: readonly string[]) {
    this.#columns = columns;
  }

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      const values = this.#columns.map((column) => (row[column] == null ? null : String(row[column])));
      const digest = createHash('sha256').update(JSON.stringify(values)).digest('hex');
      this.#sum = (this.#sum + BigInt(`0x${digest}`)) % modulus;
    }
    this.rows += rows.length;
  }

  get digest(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}

type TableName = keyof FeedbackDatabase;

interface MovedTable {
  table: TableName;
  rows: number;
  /** Of all rows, the same in both databases. */
  digest: string;
}

/** Limits of the rows in memory: their number, and their text, unless a single row is longer. */
const [mostRows, mostCharacters] = [2_000, 4 * 1024 ** 2];

/**
 * Copies every table of a feedback store in a SQLite file to an empty PostgreSQL database, reads them back and compares
 * them, all in one transaction: the target holds everything or nothing. The file stays as it is. The target is the
 * store's successor: it continues its runs. Throws `FeedbackStoreUnavailable`, also while another process has the file
 * open, and when the target is not empty.
 */
export async function moveFeedback(
  file: string,
  place: PostgresPlace,
  onTable: (moved: MovedTable) => void = () => {},
): Promise<MovedTable[]> {
  // Brings the tables up to date.
  await (await openSqliteFeedbackStore(file)).close();
  const source = openAlone(file);
  if (source === undefined) {
    throw new FeedbackStoreUnavailable(
      file,
      'another process has it open',
      'Stop `docferry up` and every worker first.',
    );
  }
  try {
    return await withPostgresDatabase(place, (db) =>
      db.transaction().execute(async (trx) => {
        await requireEmpty(trx, place);
        const moved: MovedTable[] = [];
        for (const table of ourTables) {
          const result = await moveTable(source, trx, table);
          moved.push(result);
          onTable(result);
        }
        // A worker builds the index of the search from the rows.
        await trx.updateTable('search_progress').set({ complete: 0 }).execute();
        await succeed(trx, 'moved', new Date());
        return moved;
      }),
    );
  } finally {
    source.close();
  }
}

/** A database that a process has only opened holds an identity, which nothing refers to yet. */
async function requireEmpty(trx: Trx, { place }: PostgresPlace): Promise<void> {
  await sql`lock table ${sql.join(ourTables.map((table) => sql.table(table)))} in exclusive mode`.execute(trx);
  for (const table of ourTables) {
    if (table === 'store_identity') continue;
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(trx);
    if (rows.length === 0) continue;
    throw new FeedbackStoreUnavailable(
      place,
      `it is not empty (table ${table})`,
      'Name an empty database, or an empty schema by ?options=-csearch_path%3DNAME.',
    );
  }
  await trx.deleteFrom('store_identity').execute();
}

async function moveTable(source: Database, trx: Db, table: TableName): Promise<MovedTable> {
  const columns = source.prepare(`pragma table_info(${table})`).all() as { name: string }[];
  const names = columns.map(({ name }) => name);
  const read = new RowsDigest(names);
  let batch: Row[] = [];
  let [held, longest] = [0, 0];
  const insert = async () => {
    read.add(batch);
    for (const rows of batchesOf(batch)) await insertRows(trx, table, names, rows);
    [batch, held] = [[], 0];
  };
  // In the order of insertion, which changes of one moment are listed in.
  for (const row of source.prepare(`select * from ${table} order by rowid`).iterate()) {
    const length = lengthOf(row);
    longest = Math.max(longest, length);
    if (batch.length === mostRows || held + length > mostCharacters) await insert();
    batch.push(row);
    held += length;
  }
  await insert();
  const atOnce = Math.max(1, Math.min(mostRows, Math.floor(mostCharacters / Math.max(1, longest))));
  const written = await readBack(trx, table, names, atOnce);
  if (written.rows !== read.rows || written.digest !== read.digest) {
    throw new Error(`the rows of ${table} that PostgreSQL returned are not those that were written`);
  }
  return { table, rows: read.rows, digest: read.digest };
}

async function insertRows(trx: Db, table: TableName, columns: readonly string[], rows: readonly Row[]): Promise<void> {
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
  const into = sql.join(columns.map((column) => sql.ref(column)));
  await sql`insert into ${sql.table(table)} (${into}) values ${sql.join(values)}`.execute(trx);
}

/** Characters or bytes of its values. */
function lengthOf(row: Row): number {
  let length = 0;
  for (const value of Object.values(row)) {
    if (typeof value === 'string' || value instanceof Uint8Array) length += value.length;
  }
  return length;
}

/** @param atOnce rows held at a time */
async function readBack(trx: Db, table: TableName, columns: readonly string[], atOnce: number): Promise<RowsDigest> {
  const digest = new RowsDigest(columns);
  await sql`declare moved no scroll cursor for select * from ${sql.table(table)}`.execute(trx);
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(atOnce)} from moved`.execute(trx);
    if (rows.length === 0) break;
    digest.add(rows);
  }
  await sql`close moved`.execute(trx);
  return digest;
}
