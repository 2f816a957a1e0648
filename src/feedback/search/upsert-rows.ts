import type { Transaction } from 'kysely';
import { indexRows } from './entry-index.ts';
import type { FeedbackDatabase, FeedbackTable } from '../store/tables.ts';

/**
 * Inserts rows of one project, or replaces those of the same key except for `first_seen_at`, in the index of their words
 * too: all, or only `reindexed`. At most `rowsPerStatement`.
 */
export async function upsertRows(
  db: Transaction<FeedbackDatabase>,
  rows: readonly FeedbackTable[],
  reindexed = rows,
): Promise<void> {
  if (rows.length === 0) return;
  await db
    .insertInto('feedback')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'id']).doUpdateSet((row) => ({
        org_id: row.ref('excluded.org_id'),
        path: row.ref('excluded.path'),
        comment: row.ref('excluded.comment'),
        created_at: row.ref('excluded.created_at'),
        created_at_utc: row.ref('excluded.created_at_utc'),
        source: row.ref('excluded.source'),
        status: row.ref('excluded.status'),
        helpful: row.ref('excluded.helpful'),
        contact: row.ref('excluded.contact'),
        code: row.ref('excluded.code'),
        filename: row.ref('excluded.filename'),
        lang: row.ref('excluded.lang'),
        extra: row.ref('excluded.extra'),
        last_seen_at: row.ref('excluded.last_seen_at'),
        deleted_at: row.ref('excluded.deleted_at'),
      })),
    )
    .execute();
  await indexRows(db, reindexed);
}
