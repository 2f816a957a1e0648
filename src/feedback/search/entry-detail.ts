import type { Kysely } from 'kysely';
import { fieldsOf } from '../store/row-fields.ts';
import { storedText } from '../store/stored-text.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import type { EntryDetail } from './feedback-search.ts';
import { commonFields } from './find-entries.ts';

/** A status that goes to and fro changes with every sync. */
const mostChanges = 200;

/** One entry whole, with its history. */
export async function entryDetail(
  db: Kysely<FeedbackDatabase>,
  project: string,
  id: string,
  { contacts = false }: { contacts?: boolean } = {},
): Promise<EntryDetail | null> {
  const key = { project_id: storedText(project), id: storedText(id) };
  const row = await db
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', key.project_id)
    .where('id', '=', key.id)
    .executeTakeFirst();
  if (row === undefined) return null;
  const changes = await db
    .selectFrom('feedback_changes')
    .select(['field', 'old', 'new', 'seen_at'])
    .where('project_id', '=', key.project_id)
    .where('id', '=', key.id)
    .orderBy('seen_at', 'desc')
    .limit(mostChanges + 1)
    .execute();
  return {
    ...commonFields(row, contacts),
    comment: row.comment,
    code: row.code,
    createdAtAsSent: row.created_at,
    lastSeenAt: row.last_seen_at,
    deletedAt: row.deleted_at,
    changes: changes.slice(0, mostChanges).reverse().map(fieldsOf),
    hasEarlierChanges: changes.length > mostChanges,
  };
}
