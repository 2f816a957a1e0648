import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { documentKey } from '../rules/report-figures.ts';
import { isPostgres, replacing } from '../store/queries.ts';
import type { FeedbackTable, Trx } from '../store/tables.ts';
import type { EntrySelection } from './feedback-search.ts';
import { textWords } from './search-words.ts';

/*
 * The key of an entry in the index is its place in the order of answers: the second of its date and a number that tells
 * entries of one second apart. The greatest place is the newest entry; those without a date have negative places, by the
 * second in which they were first seen. A place fits into 53 bits, which JavaScript and both databases take as a number.
 */

/** The most entries of one second: a service that sends dates without a time puts a whole day into one. */
const placesOfSecond = 2 ** 20;
const latestSecond = 2 ** 32 - 1;
const undatedFrom = -(2 ** 52);

/** The first place of the second of a date, UTC ISO 8601. Dates before 1970 and after 2106 count as those. */
export function placeOfDate(date: string): number {
  const second = Math.floor(Date.parse(date) / 1000);
  return Math.min(Math.max(second, 0), latestSecond) * placesOfSecond;
}

/** How often a place in one second is drawn before the next second is tried. */
const drawsPerSecond = 8;

/** A random place for an entry. If it is taken, the caller draws again; a crowded second passes on to the next. */
function drawPlace({ created_at_utc, first_seen_at }: FeedbackTable, draws: number): number {
  const base = created_at_utc === null ? undatedFrom + placeOfDate(first_seen_at) : placeOfDate(created_at_utc);
  return base + Math.floor(Math.random() * placesOfSecond) + Math.floor(draws / drawsPerSecond) * placesOfSecond;
}

/*
 * The index holds facets (what a search can be narrowed down to) beside the words, so that the database finds what meets
 * all conditions without reading rows. A facet begins with `=`, which no word does; its value is hashed, because it may
 * be any text.
 */

const kinds = { org: 'o', project: 'p', source: 's', status: 't', document: 'd', helpful: 'h', said: 'w' } as const;

function facet(kind: keyof typeof kinds, value: string): string {
  return `=${kinds[kind]}${createHash('sha256').update(value).digest('hex').slice(0, 16)}`;
}

const noFacet = '=';

function facetsOf({ org_id, project_id, source, status, path, helpful, comment, code }: FeedbackTable): string[] {
  return [
    facet('org', org_id),
    facet('project', project_id),
    facet('source', source),
    facet('status', status),
    facet('document', documentKey(path)),
    facet('helpful', helpful === null ? 'none' : helpful === 1 ? 'yes' : 'no'),
    facet('said', [comment, code].some((text) => text !== null && /\S/.test(text)) ? 'yes' : 'no'),
  ];
}

/** An entry must have one facet of each list. */
export function facetsAsked(selection: EntrySelection): string[][] {
  const { org, projects, sources, statuses, helpful, document, withWords } = selection;
  const one = (value: string | undefined): string[] | undefined => (value === undefined ? undefined : [value]);
  const asked = {
    org: one(org),
    project: projects,
    source: sources,
    status: statuses,
    document: one(document === undefined ? undefined : documentKey(document)),
    helpful: one(helpful),
    said: one(withWords === true ? 'yes' : undefined),
  };
  return (Object.keys(asked) as (keyof typeof asked)[]).flatMap((kind) => {
    const values = asked[kind];
    if (values === undefined) return [];
    return [values.length === 0 ? [noFacet] : [...new Set(values)].map((value) => facet(kind, value))];
  });
}

/*
 * Both databases index the same words of an entry in the same places: this file makes them, since the databases' own
 * parsers differ. The limits are PostgreSQL's; SQLite keeps them too, so that both find the same.
 */

/** The most words of comment and code together: PostgreSQL knows places up to 16,383. */
export const mostWords = 16_000;
/** The most bytes of UTF-8: PostgreSQL stores less than a MiB. */
const mostBytes = 600_000;
/** The most places of one word: PostgreSQL stores up to 255. */
const mostPlaces = 250;

/** Takes the place of a word that is not indexed, and separates two texts: no search contains it. */
const gap = '~';

/** The words of an entry in their order, `gap` for those left out; then its facets. */
function indexedWords(row: FeedbackTable): { words: string[]; facets: string[] } {
  const words: string[] = [];
  const places = new Map<string, number>();
  let bytes = 0;
  for (const text of [row.comment, row.code]) {
    if (text === null) continue;
    if (words.length > 0) words.push(gap);
    for (const { word } of textWords(text, Math.max(0, mostWords - words.length))) {
      const known = places.get(word) ?? 0;
      places.set(word, known + 1);
      if (known === 0) bytes += Buffer.byteLength(word);
      if (bytes > mostBytes) break;
      words.push(known < mostPlaces ? word : gap);
    }
  }
  return { words, facets: facetsOf(row) };
}

/** For the tokenizer of SQLite, which splits at blanks alone. */
function sqliteWords(row: FeedbackTable): string {
  const { words, facets } = indexedWords(row);
  return [...words, gap, ...facets].join(' ');
}

/** A `tsvector` as text. */
export function postgresWords(row: FeedbackTable): string {
  const { words, facets } = indexedWords(row);
  const places = new Map<string, number[]>();
  for (const [index, word] of words.entries()) {
    if (word === gap) continue;
    const found = places.get(word);
    if (found === undefined) places.set(word, [index + 1]);
    else found.push(index + 1);
  }
  return [...[...places].map(([word, at]) => `'${word}':${at.join(',')}`), ...facets.map((facet) => `'${facet}'`)].join(
    ' ',
  );
}

/** The columns from which an entry's words, facets and place are made, besides its key. */
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
 * Indexes rows of one project as they are now, replacing the index's former rows. At most `rowsPerStatement`.
 */
export async function indexRows(db: Trx, rows: readonly FeedbackTable[]): Promise<void> {
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
export async function unindexRows(db: Trx, project: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.deleteFrom('search_entries').where('project_id', '=', project).where('id', 'in', ids).execute();
}

/** Inserts or replaces at most `rowsPerStatement` rows of a project, without `first_seen_at`; indexes `reindexed`. */
export async function upsertRows(db: Trx, rows: readonly FeedbackTable[], reindexed = rows): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const { project_id: _project, id: _id, first_seen_at: _seen, ...content } = first;
  const replaced = Object.keys(content);
  await db
    .insertInto('feedback')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['project_id', 'id']).doUpdateSet(replacing(replaced)))
    .execute();
  await indexRows(db, reindexed);
}
