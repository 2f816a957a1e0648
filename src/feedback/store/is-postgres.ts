import { type Kysely, PostgresAdapter } from 'kysely';
import type { FeedbackDatabase } from './tables.ts';

export function isPostgres(db: Kysely<FeedbackDatabase>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
