import { type Kysely, sql } from 'kysely';
import { isPostgres } from './is-postgres.ts';
import type { FeedbackDatabase } from './tables.ts';

/**
 * A table of the keys, whatever their number, from one parameter. PostgreSQL compares them with columns that are compared by
 * their bytes (decisions/0032).
 */
export function wantedKeys(db: Kysely<FeedbackDatabase>, keys: readonly (readonly string[])[], columns: number) {
  const [elements, order] = isPostgres(db) ? ['json_array_elements(', ' collate "C"'] : ['json_each(', ''];
  const values = Array.from({ length: columns }, (_, index) => sql.raw(`(value ->> ${index})${order}`));
  const type = isPostgres(db) ? sql.raw('::json') : sql.raw('');
  return sql`select ${sql.join(values)} from ${sql.raw(elements)}${JSON.stringify(keys)}${type}) as given`;
}
