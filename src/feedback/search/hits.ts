import { type Kysely, type RawBuilder, sql } from 'kysely';
import { isPostgres } from '../store/is-postgres.ts';
import type { FeedbackDatabase, FeedbackTable } from '../store/tables.ts';
import { facetsAsked } from './entry-facets.ts';
import type { EntrySelection, FoundTotal } from './feedback-search.ts';
import { placeOfDate } from './index-place.ts';
import type { SearchPhrase } from './search-phrases.ts';

type Db = Kysely<FeedbackDatabase>;

/** An entry that is asked for, by its place in the order of answers. */
export interface Hit {
  place: number;
  project_id: string;
  id: string;
}

/** The question: a selection whose words have been parsed. */
export interface Wanted {
  phrases: readonly SearchPhrase[];
  selection: EntrySelection;
}

/** Counting goes no further: it costs more than the page of answers, and says no more to a person. */
const mostCounted = 1_000;

/** Hits that are counted by document. */
export const mostGrouped = 10_000;

/** Characters by which paths are counted: ten thousand may have megabytes each. */
const longestPath = 4_000;

/** The next hits below a place, the newest first. */
export async function nextHits(db: Db, wanted: Wanted, below: number | null, limit: number): Promise<Hit[]> {
  const { rows } = await sql<{ place: number | string; project_id: string; id: string }>`
    select e.place, e.project_id, e.id from ${matching(db, wanted)}
    ${below === null ? sql`` : sql`and ${place(db, wanted)} < ${whole(below)}`}
    order by ${place(db, wanted)} desc limit ${limit}`.execute(db);
  return rows.map((row) => ({ ...row, place: Number(row.place) }));
}

/** What is counted of a hit by document. */
export type CountedHit = Pick<FeedbackTable, 'org_id' | 'project_id' | 'path' | 'helpful' | 'created_at_utc'>;

/** The newest hits with what is counted of them, up to one more than `mostGrouped`. */
export async function countedHits(db: Db, wanted: Wanted): Promise<CountedHit[]> {
  const { rows } = await sql<CountedHit>`
    select f.org_id, f.project_id, substr(f.path, 1, ${longestPath}) as path, f.helpful, f.created_at_utc
    from (select ${place(db, wanted)} as place, e.project_id, e.id from ${matching(db, wanted)}
      order by ${place(db, wanted)} desc limit ${mostGrouped + 1}) as hit
    join feedback as f on f.project_id = hit.project_id and f.id = hit.id
    order by hit.place desc`.execute(db);
  return rows;
}

/** How many there are, up to `mostCounted`. */
export async function countHits(db: Db, wanted: Wanted): Promise<FoundTotal> {
  const { rows } = await sql<{ hits: number | string }>`
    select count(*) as hits from (select 1 from ${matching(db, wanted)} limit ${mostCounted + 1}) as counted`.execute(
    db,
  );
  const hits = Number(rows[0]?.hits ?? 0);
  return { count: Math.min(hits, mostCounted), isExact: hits <= mostCounted };
}

/** What follows `from`, up to the conditions of `where`. */
function matching(db: Db, wanted: Wanted): RawBuilder<unknown> {
  const { since, until, firstSeenAfter } = wanted.selection;
  const at = place(db, wanted);
  const conditions = [
    ...(since === undefined ? [] : [sql`${at} >= ${whole(placeOfDate(since))}`]),
    ...(until === undefined ? [] : [sql`${at} < ${whole(placeOfDate(until))}`]),
    ...(since === undefined && until !== undefined ? [sql`${at} >= ${whole(0)}`] : []),
    ...(firstSeenAfter === undefined ? [] : newSince(db, at, Date.parse(firstSeenAfter))),
  ];
  const asked = indexQuery(db, wanted);
  if (asked === null) return sql`search_entries as e where ${all(conditions)}`;
  if (isPostgres(db)) return sql`search_entries as e where ${all([sql`e.words @@ ${asked}::tsquery`, ...conditions])}`;
  return sql`search_words as w cross join search_entries as e on e.place = w.rowid
    where ${all([sql`search_words match ${asked}`, ...conditions])}`;
}

/**
 * New entries stand near the top: SQLite looks no further than the last of them, and PostgreSQL finds a way by itself.
 * The `+` keeps SQLite from walking the places for the least one.
 */
function newSince(db: Db, at: RawBuilder<number>, ms: number): RawBuilder<unknown>[] {
  const isNew = sql`e.first_seen_ms > ${ms}`;
  if (isPostgres(db)) return [isNew];
  return [isNew, sql`${at} >= (select min(+n.place) from search_entries as n where n.first_seen_ms > ${ms})`];
}

function place(db: Db, wanted: Wanted): RawBuilder<number> {
  return isPostgres(db) || indexQuery(db, wanted) === null ? sql<number>`e.place` : sql<number>`w.rowid`;
}

/** SQLite takes a large number of JavaScript for a fraction, and FTS5 goes through all hits then. */
function whole(place: number): bigint {
  return BigInt(place);
}

function all(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

/**
 * The words and facets in the language of the database's index; null where all entries match. Words and facets hold
 * neither quotes nor backslashes, so nothing in them means anything to either.
 */
function indexQuery(db: Db, { phrases, selection }: Wanted): string | null {
  const facets = facetsAsked(selection);
  if (facets.length + phrases.length === 0) return null;
  return isPostgres(db) ? tsquery(phrases, facets) : fts5Query(phrases, facets);
}

function fts5Query(phrases: readonly SearchPhrase[], facets: readonly (readonly string[])[]): string {
  return [
    ...phrases.map(({ words, isBeginning }) => `"${words.join(' ')}"${isBeginning ? ' *' : ''}`),
    ...facets.map((values) => `(${values.map((value) => `"${value}"`).join(' OR ')})`),
  ].join(' AND ');
}

function tsquery(phrases: readonly SearchPhrase[], facets: readonly (readonly string[])[]): string {
  return [
    ...phrases.map(
      ({ words, isBeginning }) =>
        `(${words.map((word, index) => `'${word}'${isBeginning && index === words.length - 1 ? ':*' : ''}`).join(' <-> ')})`,
    ),
    ...facets.map((values) => `(${values.map((value) => `'${value}'`).join(' | ')})`),
  ].join(' & ');
}
