import { type Kysely, sql } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/**
 * Runs the statements of a migration. PostgreSQL compares and sorts text by its bytes of UTF-8, as SQLite does, whatever
 * the locale of the database (decisions/0032).
 */
export async function makeTables(db: Kysely<FeedbackDatabase>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    const text = isPostgres(db) ? statement.replaceAll(/ text\b/g, ' text collate "C"') : statement;
    await sql.raw(text).execute(db);
  }
}
