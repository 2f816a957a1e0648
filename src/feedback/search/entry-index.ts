import { sql, type Transaction } from 'kysely';
import { isPostgres } from '../store/is-postgres.ts';
import type { FeedbackDatabase, FeedbackTable } from '../store/tables.ts';
import { drawPlace } from './index-place.ts';
import { postgresWords, sqliteWords } from './indexed-words.ts';

type Db = Transaction<FeedbackDatabase>;

/** What the words, facets and place of an entry come from, besides its key. */
const indexedColumns = [
  'org_id',
  'path',
  'comment',
  'code',
  'source',
  'status',
  'helpful',
  'created_at_utc',
  'first_seen_at',
  'deleted_at',
] as const;

/**
 * Puts rows of one project into the index as they are now, in place of what it had of them. At most `rowsPerStatement`.
 */
export async function indexRows(db: Db, rows: readonly FeedbackTable[]): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  await unindexRows(
    db,
    first.project_id,
    rows.map(({ id }) => id),
  );
  const wordsOf = isPostgres(db) ? postgresWords : sqliteWords;
  let left = rows.filter((row) => row.deleted_at === null).map((row) => ({ row, words: wordsOf(row) }));
  for (let draws = 0; left.length > 0; draws += 1) {
    const placed = new Map(left.map((entry) => [drawPlace(entry.row, draws), entry]));
    const values = [...placed].map(([place, { row, words }]) => ({
      place,
      project_id: row.project_id,
      id: row.id,
      first_seen_ms: Date.parse(row.first_seen_at),
      words: isPostgres(db) ? sql<string>`${words}::tsvector` : words,
    }));
    const inserted = await db
      .insertInto('search_entries')
      .values(values)
      .onConflict((conflict) => conflict.column('place').doNothing())
      .returning('id')
      .execute();
    if (inserted.length === left.length) return;
    const done = new Set(inserted.map(({ id }) => id));
    left = left.filter(({ row }) => !done.has(row.id));
  }
}

/** Whether the index has the same words for both, for example if only an entry's contact has changed. */
export function sameInIndex(a: FeedbackTable, b: FeedbackTable): boolean {
  return indexedColumns.every((column) => a[column] === b[column]);
}

/** Takes entries out of the index, with their words. */
export async function unindexRows(db: Db, project: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.deleteFrom('search_entries').where('project_id', '=', project).where('id', 'in', ids).execute();
}
