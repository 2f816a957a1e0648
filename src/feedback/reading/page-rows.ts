import type { Transaction } from 'kysely';
import type { FeedbackEntry, RejectedEntry } from '../rules/feedback-entry.ts';
import { batchesOf } from '../store/batches.ts';
import { storedText } from '../store/stored-text.ts';
import type { FeedbackDatabase, FeedbackTable } from '../store/tables.ts';
import { upsertRows } from '../search/upsert-rows.ts';
import type { PageChanges } from './page-changes.ts';

type Db = Transaction<FeedbackDatabase>;

/** The rows stored for the ids of a page. */
export async function storedRows(
  db: Db,
  project: string,
  sent: readonly { id: string }[],
): Promise<Map<string, FeedbackTable>> {
  const ids = [...new Set(sent.map(({ id }) => storedText(id)))];
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', project)
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

export async function writeRows(db: Db, project: string, changes: PageChanges, seenAt: string): Promise<void> {
  const { upserts, seenAgain, history } = changes;
  await upsertRows(db, upserts);
  if (seenAgain.length > 0) {
    await db
      .updateTable('feedback')
      .set({ last_seen_at: seenAt })
      .where('project_id', '=', project)
      .where('id', 'in', seenAgain)
      .execute();
  }
  // An entry sent twice may have changed twice: more rows than entries.
  for (const batch of batchesOf(history)) await db.insertInto('feedback_changes').values(batch).execute();
}

/** An id that can be understood now leaves the rejects; an id sent both ways in one page is kept in both tables. */
export async function writeRejects(
  db: Db,
  project: string,
  entries: readonly FeedbackEntry[],
  rejected: readonly RejectedEntry[],
  seenAt: string,
): Promise<void> {
  if (entries.length > 0) {
    const ids = entries.map(({ id }) => storedText(id));
    await db.deleteFrom('feedback_rejects').where('project_id', '=', project).where('id', 'in', ids).execute();
  }
  if (rejected.length > 0) {
    const values = lastOfEachId(rejected).map(({ id, raw, reason }) => ({
      project_id: project,
      id: storedText(id),
      raw: storedText(raw),
      reason: storedText(reason),
      seen_at: seenAt,
    }));
    await db
      .insertInto('feedback_rejects')
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'id']).doUpdateSet((row) => ({
          raw: row.ref('excluded.raw'),
          reason: row.ref('excluded.reason'),
          seen_at: row.ref('excluded.seen_at'),
        })),
      )
      .execute();
  }
}

/** One statement may not touch a row twice (PostgreSQL), so the last of each id stands for it. */
function lastOfEachId(rejected: readonly RejectedEntry[]): RejectedEntry[] {
  return [...new Map(rejected.map((entry) => [storedText(entry.id), entry])).values()];
}
