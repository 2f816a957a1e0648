import { sql, type Transaction } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/** Advisory locks are numbers; those of projects are hashes of 64 bits. */
const allProjects = 7_301_180_744;

/**
 * Locks the entries of the project against other transactions until this one ends, so that reading first tells what will
 * be inserted, changed or unchanged. Call it before the first read, and after writing the row of the pass if both are
 * needed: always in this order, so that transactions cannot deadlock. On SQLite only one transaction writes at a time.
 *
 * An advisory lock, because the rows that two passes are about to insert cannot be locked before they exist. It ends
 * with the transaction, even if the process is killed.
 */
export async function lockProject(db: Transaction<FeedbackDatabase>, project: string): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`select pg_advisory_xact_lock_shared(${allProjects})`.execute(db);
  await sql`select pg_advisory_xact_lock(hashtextextended(${project}, 0))`.execute(db);
}

/** Locks the entries of all projects until the transaction ends. Never together with `lockProject`. */
export async function lockAllProjects(db: Transaction<FeedbackDatabase>): Promise<void> {
  if (isPostgres(db)) await sql`select pg_advisory_xact_lock(${allProjects})`.execute(db);
}
