import type { Kysely } from 'kysely';
import type { FeedbackDatabase } from '../store/tables.ts';

/** Retention removes a little after every pass; to rewrite the store or its index takes seconds to minutes. */
const restMs = 86_400_000;

/** Whether the bytes of what was removed were taken out of the store within the last day. */
export async function cleanedLately(db: Kysely<FeedbackDatabase>): Promise<boolean> {
  const { cleaned_at } = await db.selectFrom('search_progress').select('cleaned_at').executeTakeFirstOrThrow();
  return cleaned_at !== null && Date.now() - Date.parse(cleaned_at) < restMs;
}
