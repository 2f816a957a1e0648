import { type Kysely, sql } from 'kysely';
import type { FeedbackDatabase } from '../database/tables/tables.ts';

/** Retention removes a little after every pass; making the index anew takes a minute for a million entries. */
const restMs = 86_400_000;

/**
 * Makes PostgreSQL's index of words anew, while it is in use: it keeps each word it ever held, also when no entry has it any
 * more. `log`: only when that was not done for a day.
 */
export async function forgetWords(db: Kysely<FeedbackDatabase>, how: 'all' | 'log'): Promise<void> {
  const at = new Date();
  const { cleaned_at } = await db.selectFrom('search_progress').select('cleaned_at').executeTakeFirstOrThrow();
  if (how === 'log' && cleaned_at !== null && at.getTime() - Date.parse(cleaned_at) < restMs) return;
  // What is left of one that was cut off.
  await sql`drop index if exists search_entries_by_word_ccnew`.execute(db);
  await sql`reindex index concurrently search_entries_by_word`.execute(db);
  await db.updateTable('search_progress').set({ cleaned_at: at.toISOString() }).execute();
}
