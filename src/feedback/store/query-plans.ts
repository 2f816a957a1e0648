import { sql, type Transaction } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/*
 * PostgreSQL plans by statistics, which it gathers only some time after a table has been filled. Without them it would
 * read or sort the whole project for each page. SQLite uses the indexes anyway.
 */

/** For the rest of the transaction, rows are read in the order of an index where there is one, not sorted. */
export async function preferIndexes(db: Transaction<FeedbackDatabase>): Promise<void> {
  if (isPostgres(db)) await sql`set local enable_sort = off`.execute(db);
}

/**
 * Gathers the statistics of the entries after the 10th, 100th, 1,000th … page of a pass: a first sync would outrun the
 * server's own schedule of once a minute.
 */
export async function refreshStatistics(db: Transaction<FeedbackDatabase>, page: number): Promise<void> {
  if (isPostgres(db) && /^10+$/.test(`${page}`)) await sql`analyze feedback`.execute(db);
}
