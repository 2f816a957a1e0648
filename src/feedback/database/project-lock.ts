import { sql, type Transaction } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/** Advisory locks are numbers; those of projects are hashes of 64 bits. */
const allProjects = 7_301_180_744;

/**
 * Keeps other transactions that change entries of the project out until this one has ended: what is inserted, changed
 * or unchanged can then be told by looking first. To be called before the first look, and after the row of a pass if
 * that is written too: always in this order, so that nobody waits in a circle. On SQLite a transaction that writes is
 * the only one anyway.
 *
 * An advisory lock, because the rows that two passes are about to insert cannot be locked before they exist. It goes
 * with the transaction, also when the process is killed.
 */
export async function lockProject(db: Transaction<FeedbackDatabase>, project: string): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`select pg_advisory_xact_lock_shared(${allProjects})`.execute(db);
  await sql`select pg_advisory_xact_lock(hashtextextended(${project}, 0))`.execute(db);
}

/** Keeps all that change entries of any project out until the transaction has ended. Never together with `lockProject`. */
export async function lockAllProjects(db: Transaction<FeedbackDatabase>): Promise<void> {
  if (isPostgres(db)) await sql`select pg_advisory_xact_lock(${allProjects})`.execute(db);
}
