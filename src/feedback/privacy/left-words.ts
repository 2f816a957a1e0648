import { type Kysely, sql, type Transaction } from 'kysely';
import { isPostgres } from '../store/is-postgres.ts';
import type { FeedbackDatabase } from '../store/tables.ts';

/*
 * To take each word out of SQLite's index with its entry made treating 50,000 entries take seven times as long. So a worker
 * that applies settings to a whole store leaves them there, noted as removed, until all are done. `secure-delete` of the
 * index says meanwhile that words are left: after a worker that was killed, the next one takes them out.
 */

/** From now on removed words stay in SQLite's index until `rewriteFile`. */
export async function leaveWords(trx: Transaction<FeedbackDatabase>): Promise<void> {
  if (isPostgres(trx)) return;
  await sql`insert into search_words (search_words, rank) values ('secure-delete', 0)`.execute(trx);
}

/** Whether a worker left words and was killed before it took them out. */
export async function areWordsLeft(db: Kysely<FeedbackDatabase>): Promise<boolean> {
  if (isPostgres(db)) return false;
  const { rows } = await sql`select 1 from search_words_config where k = 'secure-delete' and v = 0`.execute(db);
  return rows.length > 0;
}
