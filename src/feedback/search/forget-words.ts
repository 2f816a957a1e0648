import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { reindex } from '../database/postgres/scrub-statements.ts';
import type { FeedbackDatabase } from '../database/tables/tables.ts';
import { cleanedLately } from '../privacy/cleaned-lately.ts';

type Db = Kysely<FeedbackDatabase>;

/** Of the process that rebuilds the index: one at a time, another would wait for it with the table locked. */
const forgetting = 7_301_180_745;

/** How often it is tried to be that one, each a second apart, after an erasure. */
const tries = 100;

/**
 * Rebuilds PostgreSQL's index of words while it is in use: it keeps each word it ever held, also when no entry has it any
 * more. `daily`: only when that was not done for a day, and nobody else is at it.
 */
export async function forgetWords(db: Db, how: 'now' | 'daily'): Promise<void> {
  if (how === 'daily' && (await cleanedLately(db))) return;
  // The lock is of a connection, not of a transaction, which could not work on an index in use.
  await db.connection().execute(async (connection) => {
    if (!(await begin(connection, how === 'now' ? tries : 1))) {
      if (how === 'daily') return;
      throw new Error('another process rebuilds the index of words');
    }
    try {
      if (how === 'daily' && (await cleanedLately(connection))) return;
      await makeAnew(connection);
    } finally {
      await sql`select pg_advisory_unlock(${forgetting})`.execute(connection);
    }
  });
}

async function makeAnew(connection: Db): Promise<void> {
  const at = new Date().toISOString();
  // What is left of one that was cut off: half an index, or the one before with all its words.
  await sql`drop index concurrently if exists search_entries_by_word_ccnew`.execute(connection);
  await sql`drop index concurrently if exists search_entries_by_word_ccold`.execute(connection);
  await sql.raw(reindex).execute(connection);
  await connection.updateTable('search_progress').set({ cleaned_at: at }).execute();
}

/** Asks again and again: a connection that waited for the lock would be waited for by who has it. */
async function begin(connection: Db, left: number): Promise<boolean> {
  const { rows } = await sql<{ begun: boolean }>`select pg_try_advisory_lock(${forgetting}) as begun`.execute(
    connection,
  );
  if (rows[0]?.begun === true) return true;
  if (left <= 1) return false;
  await sleep(1_000);
  return begin(connection, left - 1);
}
