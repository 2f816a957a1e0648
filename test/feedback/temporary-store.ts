import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import type { FeedbackEntry } from '../../src/feedback/feedback-entry.ts';
import type { FeedbackStore, PageCommit, PassRow } from '../../src/feedback/feedback-store.ts';
import { openSqliteFeedbackStore } from '../../src/feedback/sqlite-store.ts';

export interface TemporaryStore extends AsyncDisposable {
  folder: string;
  file: string;
  store: FeedbackStore;
  /** Another store on the same file. */
  open(): Promise<FeedbackStore>;
  /** Reads the tables past the store, as another program would. */
  rows(sql: string): Record<string, unknown>[];
  run(sql: string): void;
}

export async function temporaryFolder(): Promise<AsyncDisposable & { folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'docferry-feedback-'));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

export async function temporaryStore(): Promise<TemporaryStore> {
  const temporary = await temporaryFolder();
  const { folder } = temporary;
  const file = join(folder, 'feedback.db');
  const opened: FeedbackStore[] = [];
  const open = async (): Promise<FeedbackStore> => {
    const store = await openSqliteFeedbackStore(file);
    opened.push(store);
    return store;
  };
  const direct = <T>(work: (database: BetterSqlite3.Database) => T): T => {
    const database = new BetterSqlite3(file);
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  return {
    folder,
    file,
    store: await open(),
    open,
    rows: (sql) => direct((database) => database.prepare<[], Record<string, unknown>>(sql).all()),
    run: (sql) => direct((database) => void database.exec(sql)),
    [Symbol.asyncDispose]: async () => {
      for (const store of opened) await store.close();
      await temporary[Symbol.asyncDispose]();
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
export function page(passId: string, entries: FeedbackEntry[], over: Partial<PageCommit> = {}): PageCommit {
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
  await store.commitPage(page(passId, entries));
  return await store.finishPass(passId, finished);
}
