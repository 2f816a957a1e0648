import { type Kysely, PostgresAdapter } from 'kysely';
import type { FeedbackDatabase } from './schema.ts';

export function isPostgres(db: Kysely<FeedbackDatabase>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
