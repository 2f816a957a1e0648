import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { reindex } from '../store/scrub-statements.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { cleanedLately } from '../privacy/cleaned-lately.ts';

type Db = Kysely<FeedbackDatabase>;

/** Of the process that rebuilds the index: one at a time, another would wait for it with the table locked. */
const forgetting = 7_301_180_745;

/** How often an erasure tries to become that process, a second apart. */
const tries = 100;

/**
 * Rebuilds PostgreSQL's index of words while it is in use: it keeps each word it ever held, even if no entry has it any
 * more. `daily`: only if it was not done for a day and no other process is doing it.
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
  // What an interrupted rebuild leaves: half an index, or the previous one with all its words.
  await sql`drop index concurrently if exists search_entries_by_word_ccnew`.execute(connection);
  await sql`drop index concurrently if exists search_entries_by_word_ccold`.execute(connection);
  await sql.raw(reindex).execute(connection);
  await connection.updateTable('search_progress').set({ cleaned_at: at }).execute();
}

/** Polls for the lock: the rebuild of the process that has it would wait for a connection that waits. */
async function begin(connection: Db, left: number): Promise<boolean> {
  const { rows } = await sql<{ begun: boolean }>`select pg_try_advisory_lock(${forgetting}) as begun`.execute(
    connection,
  );
  if (rows[0]?.begun === true) return true;
  if (left <= 1) return false;
  await sleep(1_000);
  return begin(connection, left - 1);
}
