import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Privacy } from '../../../src/feedback/privacy/privacy.ts';
import type { PageUpsert, PassRow } from '../../../src/feedback/reading/passes.ts';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import type { FeedbackStorePlace } from '../../../src/feedback/store/open-feedback-store.ts';
import { openPostgresFeedbackStore } from '../../../src/feedback/store/postgres-store.ts';
import { openSqliteFeedbackStore } from '../../../src/feedback/store/sqlite-store.ts';
import { Database } from '../../../src/sqlite.ts';
import { copyOfTemplate, type PostgresDatabase } from '../servers/postgres-database.ts';

export interface TemporaryStore extends AsyncDisposable {
  place: FeedbackStorePlace;
  store: FeedbackStore;
  /** Another store on the same database, perhaps with other settings of privacy. */
  open(privacy?: Privacy): Promise<FeedbackStore>;
  /** Reads the tables past the store, as another program would. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
  run(sql: string): Promise<void>;
  /** The database's own column by which rows that were only ever inserted are in the order of insertion. */
  insertion: 'rowid' | 'ctid';
}

type StoreKind = 'sqlite' | 'postgres';

let kind: StoreKind = 'sqlite';

/** Which database `temporaryStore` makes in this test file: the same tests run on both (`*-on-postgres.test.ts`). */
export function useStoreKind(chosen: StoreKind): void {
  kind = chosen;
}

export async function temporaryFolder(): Promise<AsyncDisposable & { folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'docferry-feedback-'));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

export async function temporaryStore(privacy?: Privacy): Promise<TemporaryStore> {
  return kind === 'sqlite' ? await temporarySqliteStore(privacy) : await temporaryPostgresStore(privacy);
}

export async function temporarySqliteStore(
  privacy?: Privacy,
): Promise<TemporaryStore & { folder: string; file: string }> {
  const temporary = await temporaryFolder();
  const { folder } = temporary;
  const file = join(folder, 'feedback.db');
  const { open, close } = opener((settings) => openSqliteFeedbackStore(file, settings));
  const direct = async <T>(work: (database: Database) => T): Promise<T> => {
    const database = new Database(file);
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  return {
    folder,
    file,
    place: { kind: 'sqlite', file },
    store: await open(privacy),
    open,
    rows: (sql) => direct((database) => database.prepare<Record<string, unknown>>(sql).all()),
    run: (sql) => direct((database) => void database.exec(sql)),
    insertion: 'rowid',
    [Symbol.asyncDispose]: async () => {
      await close();
      await temporary[Symbol.asyncDispose]();
    },
  };
}

export async function temporaryPostgresStore(
  privacy?: Privacy,
): Promise<TemporaryStore & { database: PostgresDatabase }> {
  const database = await copyOfTemplate();
  const { open, close } = opener((settings) => openPostgresFeedbackStore(database.place, settings));
  return {
    database,
    place: { kind: 'postgres', ...database.place },
    store: await open(privacy),
    open,
    rows: database.rows,
    run: database.run,
    insertion: 'ctid',
    [Symbol.asyncDispose]: async () => {
      await close();
      await database[Symbol.asyncDispose]();
    },
  };
}

function opener(openOne: (privacy?: Privacy) => Promise<FeedbackStore>): {
  open(privacy?: Privacy): Promise<FeedbackStore>;
  close(): Promise<void>;
} {
  const opened: FeedbackStore[] = [];
  return {
    open: async (privacy) => {
      const store = await openOne(privacy);
      opened.push(store);
      return store;
    },
    close: async () => {
      for (const store of opened) await store.close();
    },
  };
}

export const startedAt = new Date('2026-11-21T08:00:00Z');

export function entry(id: string, over: Partial<FeedbackEntry> = {}): FeedbackEntry {
  return {
    id,
    path: '/docs/start',
    comment: null,
    createdAt: '2026-11-20T10:00:00Z',
    source: 'thumbs_only',
    status: 'pending',
    helpful: null,
    contact: null,
    code: null,
    filename: null,
    lang: null,
    extra: {},
    ...over,
  };
}

export async function begin(
  store: FeedbackStore,
  passId: string,
  over: Partial<Parameters<FeedbackStore['beginPass']>[0]> = {},
): Promise<PassRow> {
  return await store.beginPass({
    passId,
    org: 'acme',
    project: 'prj_1',
    pass: 'sweep',
    workflowId: 'sync:acme:prj_1:sweep',
    runId: `run-of-${passId}`,
    dateFrom: null,
    dateTo: null,
    startedAt,
    ...over,
  });
}

/** A page read from the beginning, the last one unless told otherwise. */
export function page(passId: string, entries: FeedbackEntry[], over: Partial<PageUpsert> = {}): PageUpsert {
  return {
    passId,
    from: { page: 0, cursor: null, complete: false },
    entries,
    rejected: [],
    nextCursor: null,
    hasMore: false,
    requests: 1,
    seenAt: new Date('2026-11-21T08:00:01Z'),
    ...over,
  };
}

export const finished = {
  outcome: 'completed',
  error: null,
  waitedMs: 0,
  finishedAt: new Date('2026-11-21T08:05:00Z'),
} as const;

/** A whole pass of one page. */
export async function wholePass(
  store: FeedbackStore,
  passId: string,
  entries: FeedbackEntry[],
  over: Partial<Parameters<FeedbackStore['beginPass']>[0]> = {},
): Promise<PassRow> {
  await begin(store, passId, over);
  await store.upsertPage(page(passId, entries));
  return await store.finishPass(passId, finished);
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** What this process cannot give back, in bytes: a busy machine collects late, which `rss` would show as use. */
export function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A closed connection keeps its lock until its statements are collected (`src/sqlite.ts`). */
export async function releaseLocks(): Promise<void> {
  collectGarbage();
  await nextTurn();
  await nextTurn();
}
