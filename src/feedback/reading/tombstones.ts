import type { Transaction } from 'kysely';
import type { SliceFindings } from '../rules/slice-findings.ts';
import { batchesOf } from '../store/batches.ts';
import { liveEntries } from '../store/stored-entries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { unindexRows } from '../search/entry-index.ts';
import type { PassRow } from './pass-store.ts';
import { cameWithoutId } from './unreadable-entries.ts';

type Gone = NonNullable<SliceFindings['gone']>;

/** Notes as gone the entries that two complete readings have missed (S4), unless one of them may have come without its id. */
export async function tombstone(
  db: Transaction<FeedbackDatabase>,
  { passId, org, project }: PassRow,
  { unseenSince, covered }: Gone,
  noticedAt: Date,
): Promise<void> {
  const unseen = liveEntries(db, { org, project }).select('id').where('last_seen_at', '<', unseenSince);
  const missing =
    covered === 'undated'
      ? unseen.where('created_at_utc', 'is', null)
      : covered.reduce(
          (rows, { from, to }) =>
            rows
              .$if(from !== null, (query) => query.where('created_at_utc', '>=', from ?? ''))
              .$if(to !== null, (query) => query.where('created_at_utc', '<=', to ?? '')),
          unseen.where('created_at_utc', 'is not', null),
        );
  const ids = (await missing.execute()).map(({ id }) => id);
  if (ids.length === 0 || (await cameWithoutId(db, project, unseenSince))) return;
  const at = noticedAt.toISOString();
  for (const batch of batchesOf(ids)) {
    await db
      .updateTable('feedback')
      .set({ deleted_at: at })
      .where('project_id', '=', project)
      .where('id', 'in', batch)
      .execute();
    await unindexRows(db, project, batch);
    await db
      .insertInto('feedback_changes')
      .values(batch.map((id) => ({ project_id: project, id, field: 'deleted_at', old: null, new: at, seen_at: at })))
      .execute();
  }
  await db
    .updateTable('sync_passes')
    .set((row) => ({ tombstoned: row('tombstoned', '+', ids.length) }))
    .where('pass_id', '=', passId)
    .execute();
}
