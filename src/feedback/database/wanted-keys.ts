import { type Kysely, sql } from 'kysely';
import { isPostgres } from './postgres/is-postgres.ts';
import type { FeedbackDatabase } from './tables/tables.ts';

/** Keys a statement: three parameters each stay below what both databases allow (32,766 and 65,535). */
const keysPerStatement = 8_000;

/** A table of the keys. PostgreSQL compares them with columns that are compared by their bytes (decisions/0032). */
export function wantedKeys(db: Kysely<FeedbackDatabase>, keys: readonly (readonly string[])[], columns: number) {
  const rows = keys.map((key) => sql`(${sql.join(key)})`);
  const order = isPostgres(db) ? ' collate "C"' : '';
  const names = Array.from({ length: columns }, (_, index) => sql.raw(`column${index + 1}${order}`));
  return sql`select ${sql.join(names)} from (values ${sql.join(rows)}) as given`;
}

/** Reads the rows of many keys in as few statements as there may be. */
export async function inPieces<Key, Row>(keys: readonly Key[], read: (keys: Key[]) => Promise<Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < keys.length; at += keysPerStatement) {
    rows.push(...(await read(keys.slice(at, at + keysPerStatement))));
  }
  return rows;
}
