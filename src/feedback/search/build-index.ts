import type { Kysely, Selectable, Transaction } from 'kysely';
import { rowsPerStatement } from '../store/batches.ts';
import { lockProject } from '../store/project-lock.ts';
import type { FeedbackDatabase, SearchProgressTable } from '../store/tables.ts';
import { indexRows } from './entry-index.ts';
import type { IndexProgress } from './feedback-search.ts';

type Progress = Selectable<SearchProgressTable>;

/**
 * Puts the next entries of a store that is older than the index into it, in the order of their keys. The row of the progress
 * is locked, so that several processes share the work.
 */
export async function indexMore(trx: Transaction<FeedbackDatabase>): Promise<IndexProgress> {
  const progress = await lockedProgress(trx);
  if (progress.complete === 1) return progressOf(progress);
  const next = await nextKey(trx, progress);
  if (next === undefined) return await move(trx, { ...progress, complete: 1 });
  const { project_id } = next;
  await lockProject(trx, project_id);
  const rows = await trx
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', project_id)
    .where('id', '>=', next.id)
    .orderBy('id')
    .limit(rowsPerStatement)
    .execute();
  await indexRows(trx, rows);
  const { id } = rows.at(-1) ?? next;
  const entries = progress.entries === 0 ? await countEntries(trx) : progress.entries;
  return await move(trx, { ...progress, project_id, id, passed: progress.passed + rows.length, entries });
}

export async function indexProgress(db: Kysely<FeedbackDatabase>): Promise<IndexProgress> {
  return progressOf(await db.selectFrom('search_progress').selectAll().executeTakeFirstOrThrow());
}

function progressOf({ complete, passed, entries }: Progress): IndexProgress {
  if (complete === 1) return { complete: true, percent: 100 };
  return { complete: false, percent: Math.min(99, Math.floor((100 * passed) / Math.max(entries, 1))) };
}

async function lockedProgress(trx: Transaction<FeedbackDatabase>): Promise<Progress> {
  // Locks it, on SQLite as well: there is no other way that both know.
  return await trx
    .updateTable('search_progress')
    .set((row) => ({ passed: row.ref('passed') }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function nextKey(trx: Transaction<FeedbackDatabase>, { project_id, id }: Progress) {
  return await trx
    .selectFrom('feedback')
    .select(['project_id', 'id'])
    .where(({ eb, refTuple, tuple }) => eb(refTuple('project_id', 'id'), '>', tuple(project_id, id)))
    .orderBy('project_id')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

async function countEntries(trx: Transaction<FeedbackDatabase>): Promise<number> {
  const { entries } = await trx
    .selectFrom('feedback')
    .select((row) => row.fn.countAll().as('entries'))
    .executeTakeFirstOrThrow();
  return Number(entries);
}

async function move(trx: Transaction<FeedbackDatabase>, to: Progress): Promise<IndexProgress> {
  await trx.updateTable('search_progress').set(to).execute();
  return progressOf(to);
}
