import { setTimeout as sleep } from 'node:timers/promises';
import { type Selectable, sql } from 'kysely';
import { recentlyScrubbed } from '../privacy/apply-privacy.ts';
import { entriesAfter, lockProject, nextRows, reindex } from '../store/queries.ts';
import type { Db, FeedbackDatabase, Trx } from '../store/tables.ts';
import { indexRows } from './entry-index.ts';
import type { IndexProgress } from './feedback-search.ts';

type Progress = Selectable<FeedbackDatabase['search_progress']>;

/** Indexes the next entries of a moved store by key. Several processes share the work; each step may be repeated. */
export async function indexMore(trx: Trx): Promise<IndexProgress> {
  const progress = await lockedProgress(trx);
  if (progress.complete === 1) return progressOf(progress);
  const next = await nextKey(trx, progress);
  if (next === undefined) return await move(trx, { ...progress, complete: 1 });
  const { project_id } = next;
  await lockProject(trx, project_id);
  const before = project_id === progress.project_id ? progress.id : '';
  const { rows } = await nextRows(trx, 'feedback', entriesAfter(trx, project_id, before).orderBy('id'));
  await indexRows(trx, rows);
  const { id } = rows.at(-1) ?? next;
  const entries = progress.entries === 0 ? await countEntries(trx) : progress.entries;
  return await move(trx, { ...progress, project_id, id, passed: progress.passed + rows.length, entries });
}

export async function indexProgress(db: Db): Promise<IndexProgress> {
  return progressOf(await db.selectFrom('search_progress').selectAll().executeTakeFirstOrThrow());
}

function progressOf({ complete, passed, entries }: Progress): IndexProgress {
  if (complete === 1) return { complete: true, percent: 100 };
  return { complete: false, percent: Math.min(99, Math.floor((100 * passed) / Math.max(entries, 1))) };
}

async function lockedProgress(trx: Trx): Promise<Progress> {
  // A write locks the row on both databases.
  return await trx
    .updateTable('search_progress')
    .set((row) => ({ passed: row.ref('passed') }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function nextKey(trx: Trx, { project_id, id }: Progress) {
  return await trx
    .selectFrom('feedback')
    .select(['project_id', 'id'])
    .where(({ eb, refTuple, tuple }) => eb(refTuple('project_id', 'id'), '>', tuple(project_id, id)))
    .orderBy('project_id')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

async function countEntries(trx: Trx): Promise<number> {
  const { entries } = await trx
    .selectFrom('feedback')
    .select((row) => row.fn.countAll().as('entries'))
    .executeTakeFirstOrThrow();
  return Number(entries);
}

async function move(trx: Trx, to: Progress): Promise<IndexProgress> {
  await trx.updateTable('search_progress').set(to).execute();
  return progressOf(to);
}

const againAfterMs = 30_000;
/** The pause after a step, as a multiple of its time: the process and the database have other work too. */
const restOfStep = 2;

interface CompleteIndex {
  store: { indexMore(): Promise<IndexProgress> };
  /** A step failed; it is tried again. */
  onFailure(error: unknown): void;
  stopped(): boolean;
}

/** Indexes the entries of a moved store step by step, until all are indexed or the worker stops. */
export async function completeIndex(
  { store, onFailure, stopped }: CompleteIndex,
  waitMs = againAfterMs,
): Promise<void> {
  while (!stopped()) {
    const began = performance.now();
    try {
      if ((await store.indexMore()).complete) return;
      await sleep((performance.now() - began) * restOfStep, undefined, { ref: false });
    } catch (error) {
      if (stopped()) return;
      onFailure(error);
      await sleep(waitMs, undefined, { ref: false });
    }
  }
}

/** Advisory lock of the process that rebuilds the index: a second process would wait with the table locked. */
const rebuildLock = 7_301_180_745;

/** How often an erasure tries to take that lock, a second apart. */
const tries = 100;

/** Rebuilds PostgreSQL's index of words, which keeps removed ones, while it is in use. `daily`: once a day at most. */
export async function rebuildSearchIndex(db: Db, how: 'now' | 'daily'): Promise<void> {
  if (how === 'daily' && (await recentlyScrubbed(db))) return;
  // The lock belongs to the connection: within a transaction an index in use cannot be rebuilt.
  await db.connection().execute(async (connection) => {
    if (!(await begin(connection, how === 'now' ? tries : 1))) {
      if (how === 'daily') return;
      throw new Error('another process rebuilds the index of words');
    }
    try {
      if (how === 'daily' && (await recentlyScrubbed(connection))) return;
      await rebuild(connection);
    } finally {
      await sql`select pg_advisory_unlock(${rebuildLock})`.execute(connection);
    }
  });
}

async function rebuild(connection: Db): Promise<void> {
  const at = new Date().toISOString();
  // An interrupted rebuild leaves half an index, or the previous one with all its words.
  await sql`drop index concurrently if exists search_entries_by_word_ccnew`.execute(connection);
  await sql`drop index concurrently if exists search_entries_by_word_ccold`.execute(connection);
  await sql.raw(reindex).execute(connection);
  await connection.updateTable('search_progress').set({ cleaned_at: at }).execute();
}

/** Polls for the lock: a waiting connection would block the rebuild of the process that has it. */
async function begin(connection: Db, left: number): Promise<boolean> {
  const { rows } = await sql<{ begun: boolean }>`select pg_try_advisory_lock(${rebuildLock}) as begun`.execute(
    connection,
  );
  if (rows[0]?.begun === true) return true;
  if (left <= 1) return false;
  await sleep(1_000);
  return begin(connection, left - 1);
}
