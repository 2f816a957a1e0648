import { Kysely } from 'kysely';
import { Client } from 'pg';
import { indexRows, unindexRows } from '../../src/feedback/search/entry-index.ts';
import type { FeedbackStore } from '../../src/feedback/store/feedback-store.ts';
import { openPostgresFeedbackStore, withPostgresDatabase } from '../../src/feedback/store/postgres-store.ts';
import { batchesOf } from '../../src/feedback/store/queries.ts';
import { immediateSqliteDialect, openSqliteFeedbackStore } from '../../src/feedback/store/sqlite-store.ts';
import type { FeedbackDatabase, FeedbackTable } from '../../src/feedback/store/tables.ts';
import { Database } from '../../src/sqlite.ts';
import { postgresBinaries } from '../../test/tools/servers/postgres-binaries.ts';
import { startPostgres } from '../../test/tools/servers/postgres-server.ts';
import type { AskedFor } from './search-queries.ts';

type Db = Kysely<FeedbackDatabase>;

/** A feedback store on a database, and what the benchmark does past it. */
export interface SearchBench {
  name: string;
  store: FeedbackStore;
  /** Inserts entries without indexing them, as a store from before the index holds them. */
  fill(rows: Iterable<FeedbackTable>): Promise<void>;
  /** What the server does by itself in time. */
  settle(): Promise<void>;
  indexBytes(): Promise<{ index: number; feedback: number }>;
  /** Milliseconds that a page of entries takes. */
  storePage(passId: string, rows: readonly FeedbackTable[]): Promise<number>;
  /** Milliseconds that the index takes of a page of entries that are not in it. */
  indexPage(rows: readonly FeedbackTable[]): Promise<number>;
  like(asked: AskedFor): Promise<void>;
  close(): Promise<void>;
}

export async function openSqliteBench(file: string): Promise<SearchBench> {
  const store = await openSqliteFeedbackStore(file);
  const database = new Database(file);
  for (const setting of ['synchronous = FULL', 'secure_delete = ON', 'foreign_keys = ON']) database.pragma(setting);
  const db: Db = new Kysely<FeedbackDatabase>({ dialect: immediateSqliteDialect(database, (error) => error) });
  const bytesOf = (like: string) =>
    (
      database
        .prepare('select sum(pgsize) as bytes from dbstat where name like ? or name like ?')
        .get(like, `%${like}`) as {
        bytes: number;
      }
    ).bytes;
  return {
    name: 'SQLite',
    store,
    fill: (rows) => fill(db, rows),
    settle: async () => {},
    indexBytes: async () => ({ index: bytesOf('search%'), feedback: bytesOf('feedback%') }),
    ...common(store, db),
    async close() {
      await db.destroy();
      await store.close();
    },
  };
}

/** Null where PostgreSQL is not installed. */
export async function openPostgresBench(): Promise<SearchBench | null> {
  const binaries = postgresBinaries();
  if (binaries === null) return null;
  const { address, stop } = await startPostgres(binaries, { ssl: false });
  const { host, port, user, password } = address;
  const place = {
    place: `postgres://${user}@${host}:${port}/postgres`,
    host,
    port,
    database: 'postgres',
    user,
    password: { read: () => password },
    tls: { mode: 'disable' as const, rootCert: null, cert: null, key: null },
    options: null,
  };
  const store = await openPostgresFeedbackStore(place);
  const client = new Client({ host, port, user, password, database: 'postgres' });
  await client.connect();
  const within = <T>(work: (db: Db) => Promise<T>) => withPostgresDatabase(place, work);
  return {
    name: 'PostgreSQL',
    store,
    fill: (rows) => within((db) => fill(db, rows)),
    settle: async () => void (await client.query('vacuum analyze')),
    async indexBytes() {
      const { rows } = await client.query(
        `select pg_total_relation_size('search_entries') as index, pg_total_relation_size('feedback') as feedback`,
      );
      return { index: Number(rows[0].index), feedback: Number(rows[0].feedback) };
    },
    storePage: (passId, rows) => storePage(store, passId, rows),
    indexPage: (rows) => within((db) => indexPage(db, rows)),
    like: (asked) => within((db) => like(db, asked)),
    async close() {
      await client.end();
      await store.close();
      await stop();
    },
  };
}

function common(store: FeedbackStore, db: Db): Pick<SearchBench, 'storePage' | 'indexPage' | 'like'> {
  return {
    storePage: (passId, rows) => storePage(store, passId, rows),
    indexPage: (rows) => indexPage(db, rows),
    like: (asked) => like(db, asked),
  };
}

async function fill(db: Db, rows: Iterable<FeedbackTable>): Promise<void> {
  const insert = async (many: readonly FeedbackTable[]) => {
    await db.transaction().execute(async (trx) => {
      for (const batch of batchesOf(many)) await trx.insertInto('feedback').values(batch).execute();
    });
  };
  let open: FeedbackTable[] = [];
  for (const row of rows) {
    open.push(row);
    if (open.length < 20_000) continue;
    await insert(open);
    open = [];
  }
  await insert(open);
  await db.updateTable('search_progress').set({ complete: 0 }).execute();
}

async function storePage(store: FeedbackStore, passId: string, rows: readonly FeedbackTable[]): Promise<number> {
  const startedAt = new Date('2026-11-21T08:00:00Z');
  const pass = {
    passId,
    org: 'org_0',
    project: 'prj_0',
    pass: 'sweep',
    dateFrom: null,
    dateTo: null,
    startedAt,
  } as const;
  await store.beginPass({ ...pass, workflowId: 'bench', runId: passId });
  const entries = rows.map((row) => ({
    ...row,
    createdAt: row.created_at,
    helpful: row.helpful === null ? null : row.helpful === 1,
    extra: {},
  }));
  const began = performance.now();
  await store.upsertPage({
    passId,
    from: { page: 0, cursor: null, complete: false },
    entries,
    rejected: [],
    // The last page of a sweep would look for what is gone.
    nextCursor: 'next',
    hasMore: true,
    requests: 1,
    seenAt: new Date(),
  });
  return performance.now() - began;
}

async function indexPage(db: Db, rows: readonly FeedbackTable[]): Promise<number> {
  const [first] = rows;
  const ids = rows.map(({ id }) => id);
  await db.transaction().execute((trx) => unindexRows(trx, first?.project_id ?? '', ids));
  const began = performance.now();
  await db.transaction().execute((trx) => indexRows(trx, rows));
  return performance.now() - began;
}

/** What one would write without an index. */
async function like(db: Db, { like: patterns, query }: AskedFor): Promise<void> {
  await db
    .selectFrom('feedback')
    .selectAll()
    .where('deleted_at', 'is', null)
    .where((row) =>
      row.and(
        (patterns ?? []).map((pattern) =>
          row.or([row('comment', 'like', `%${pattern}%`), row('code', 'like', `%${pattern}%`)]),
        ),
      ),
    )
    .$if(query.statuses !== undefined, (rows) => rows.where('status', 'in', query.statuses ?? []))
    .$if(query.projects !== undefined, (rows) => rows.where('project_id', 'in', query.projects ?? []))
    .orderBy('created_at_utc', 'desc')
    .limit(query.limit)
    .execute();
}
