import { setImmediate as letOthersRun } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { isoInstant } from '../../rules/text.ts';
import { countWhere, intervalOf, votedNo, votedYes } from '../figures/read-report-figures.ts';
import type { FeedbackRecord } from '../files/feedback-record.ts';
import { recordOf } from '../files/stored-records.ts';
import { storedText } from '../rules/feedback-entry.ts';
import { documentKey, type TimeAxis } from '../rules/report-figures.ts';
import { bytesOfTexts, isPostgres, readRows, rowsPerStatement, type SizedKey } from '../store/queries.ts';
import { type Db, type FeedbackDatabase, type FeedbackTable, fieldsOf } from '../store/tables.ts';
import { indexProgress } from './build-index.ts';
import { facetsAsked, mostWords, placeOfDate } from './entry-index.ts';
import {
  type DocumentAnswer,
  type EntryDetail,
  type EntrySelection,
  type FoundDocument,
  type FoundEntry,
  type FoundText,
  type FoundTotal,
  type SearchAnswer,
  type SearchQuery,
  SearchRefused,
  type TrendPart,
} from './feedback-search.ts';
import { type SearchPhrase, searchPhrases, type TextWord, textWords } from './search-words.ts';

type Mark = readonly [start: number, end: number];

/** Length of an excerpt in UTF-16 units, and how much of it precedes the first hit. */
const longestExcerpt = 1_000;
const before = 200;

/** A stored text as an answer shows it: around the first hit, or from its beginning if there is none. */
export function foundText(text: string | null, phrases: readonly SearchPhrase[]): FoundText | null {
  if (text === null) return null;
  const marks = marksIn(text, phrases);
  const [first] = marks;
  const from = text.length <= longestExcerpt || first === undefined ? 0 : startOf(text, first[0]);
  const end = wholeCharacter(text, Math.min(text.length, from + longestExcerpt));
  return {
    text: text.slice(from, end),
    from,
    length: text.length,
    marks: marks.flatMap(([start, stop]) =>
      start < end && stop > from ? [[Math.max(start, from) - from, Math.min(stop, end) - from] as const] : [],
    ),
  };
}

/** Where a text has the phrases, in order and apart; it looks no further than the indexed words. */
export function marksIn(text: string, phrases: readonly SearchPhrase[]): Mark[] {
  if (phrases.length === 0) return [];
  const words = [...textWords(text, mostWords)];
  // A text of thousands of words is not compared with a hundred phrases word by word.
  const anywhere: SearchPhrase[] = [];
  const byFirst = new Map<string | undefined, SearchPhrase[]>();
  for (const phrase of phrases) {
    const [first, ...others] = phrase.words;
    if (phrase.isBeginning && others.length === 0) anywhere.push(phrase);
    else byFirst.set(first, [...(byFirst.get(first) ?? []), phrase]);
  }
  const found = words.flatMap((word, index) =>
    [...anywhere, ...(byFirst.get(word.word) ?? [])].flatMap((phrase) => markAt(words, index, word, phrase)),
  );
  return apart(found);
}

function markAt(words: readonly TextWord[], index: number, first: TextWord, phrase: SearchPhrase): Mark[] {
  const last = index + phrase.words.length - 1;
  const isThere = phrase.words.every((word, offset) => {
    const there = words[index + offset]?.word;
    return phrase.isBeginning && index + offset === last ? there?.startsWith(word) === true : there === word;
  });
  const end = words[last];
  if (!isThere || end === undefined) return [];
  // A pair that is found by its first character is marked at that character alone.
  const isHalf = end.isPair && phrase.isBeginning && end.end - end.start === end.word.length;
  return [[first.start, isHalf ? end.start + (phrase.words.at(-1) ?? '').length : end.end]];
}

function apart(marks: readonly Mark[]): Mark[] {
  const joined: [number, number][] = [];
  for (const [start, end] of marks.toSorted(([a], [b]) => a - b)) {
    const last = joined.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}

/** Some text before the hit, from the beginning of a word if one is near. */
function startOf(text: string, found: number): number {
  const from = Math.max(0, found - before);
  const blank = text.slice(from, found).search(/\s/u);
  return from === 0 || blank === -1 ? wholeCharacter(text, from) : from + blank + 1;
}

/** Not between the halves of a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text.charAt(at)) && /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) ? at - 1 : at;
}

/** An entry that is asked for, by its place in the order of answers. */
interface Hit extends SizedKey {
  place: number;
}

/** The question: a selection whose words have been parsed. */
interface Wanted {
  phrases: readonly SearchPhrase[];
  selection: EntrySelection;
}

/** Counting stops here: it costs more than the page of answers, and nobody needs a larger number. */
const mostCounted = 1_000;

/** How many hits are counted by document. */
const mostGrouped = 10_000;

/** Paths are grouped by their first characters, this many: each of ten thousand may have megabytes. */
const longestPath = 4_000;

async function nextHits(db: Db, wanted: Wanted, below: number | null, limit: number): Promise<Hit[]> {
  const { rows } = await sql<SizedKey & { place: number | string }>`
    select hit.*, (select ${bytesOfTexts('f')} from feedback f where f.project_id = hit.project_id and f.id = hit.id) as bytes
    from (select e.place, e.project_id, e.id from ${matching(db, wanted)}
      ${below === null ? sql`` : sql`and ${place(db, wanted)} < ${wholeNumber(below)}`}
      order by ${place(db, wanted)} desc limit ${limit}) as hit
    order by hit.place desc`.execute(db);
  return rows.map((row) => ({ ...row, place: Number(row.place) }));
}

type CountedHit = Pick<FeedbackTable, 'org_id' | 'project_id' | 'path' | 'helpful' | 'created_at_utc'>;

/** The newest hits with the columns that are counted, at most `mostGrouped` + 1. */
async function countedHits(db: Db, wanted: Wanted): Promise<CountedHit[]> {
  const { rows } = await sql<CountedHit>`
    select f.org_id, f.project_id, substr(f.path, 1, ${longestPath}) as path, f.helpful, f.created_at_utc
    from (select ${place(db, wanted)} as place, e.project_id, e.id from ${matching(db, wanted)}
      order by ${place(db, wanted)} desc limit ${mostGrouped + 1}) as hit
    join feedback as f on f.project_id = hit.project_id and f.id = hit.id
    order by hit.place desc`.execute(db);
  return rows;
}

/** How many there are, up to `mostCounted`. */
async function countHits(db: Db, wanted: Wanted): Promise<FoundTotal> {
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
    ...(since === undefined ? [] : [sql`${at} >= ${wholeNumber(placeOfDate(since))}`]),
    ...(until === undefined ? [] : [sql`${at} < ${wholeNumber(placeOfDate(until))}`]),
    ...(since === undefined && until !== undefined ? [sql`${at} >= ${wholeNumber(0)}`] : []),
    ...(firstSeenAfter === undefined ? [] : newSince(db, at, Date.parse(firstSeenAfter))),
  ];
  const asked = indexQuery(db, wanted);
  if (asked === null) return sql`search_entries as e where ${all(conditions)}`;
  if (isPostgres(db)) return sql`search_entries as e where ${all([sql`e.words @@ ${asked}::tsquery`, ...conditions])}`;
  return sql`search_words as w cross join search_entries as e on e.place = w.rowid
    where ${all([sql`search_words match ${asked}`, ...conditions])}`;
}

/** New entries stand near the top: SQLite looks no further, and `+` keeps it from walking the places for the least. */
function newSince(db: Db, at: RawBuilder<number>, ms: number): RawBuilder<unknown>[] {
  const isNew = sql`e.first_seen_ms > ${ms}`;
  if (isPostgres(db)) return [isNew];
  return [isNew, sql`${at} >= (select min(+n.place) from search_entries as n where n.first_seen_ms > ${ms})`];
}

function place(db: Db, wanted: Wanted): RawBuilder<number> {
  return isPostgres(db) || indexQuery(db, wanted) === null ? sql<number>`e.place` : sql<number>`w.rowid`;
}

/** SQLite takes a large number of JavaScript for a fraction, with which FTS5 walks all hits. */
function wholeNumber(place: number): bigint {
  return BigInt(place);
}

function all(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

/** Words and facets in the language of the database's index, without quotes to escape; null where all match. */
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

const mostPerAnswer = 200;

/** One page of the hits, and how many there are. Every text is as stored: escape it. Throws `SearchRefused`. */
export async function findEntries(db: Db, query: SearchQuery): Promise<SearchAnswer> {
  const wanted = wantedOf(query);
  const limit = limitOf(query);
  const hits = await nextHits(db, wanted, placeAfter(query.after), limit + 1);
  const shown = hits.slice(0, limit);
  const entries: FoundEntry[] = [];
  for await (const row of readRows(db, shown)) {
    entries.push({
      ...commonFields(row, query.contacts === true),
      comment: foundText(row.comment, wanted.phrases),
      code: foundText(row.code, wanted.phrases),
    });
    // Texts may have megabytes: others run between two of them.
    await letOthersRun();
  }
  return {
    entries,
    total: await countHits(db, wanted),
    after: hits.length > limit ? `${shown.at(-1)?.place}` : null,
    index: await indexProgress(db),
  };
}

/** Throws `SearchRefused`. */
function wantedOf(selection: EntrySelection): Wanted {
  for (const field of ['since', 'until', 'firstSeenAfter'] as const) {
    const value = selection[field];
    if (value !== undefined && isoInstant(value) === null) {
      throw new SearchRefused(field, `${field} is no date`, 'Write it in ISO 8601, such as 2026-11-21T08:00:00Z.');
    }
  }
  return { selection, phrases: selection.words === undefined ? [] : searchPhrases(selection.words) };
}

function limitOf({ limit }: SearchQuery): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostPerAnswer) return limit;
  throw new SearchRefused('limit', 'limit is out of range', `Ask for 1 to ${mostPerAnswer} at a time.`);
}

function placeAfter(after: string | undefined): number | null {
  if (after === undefined) return null;
  if (/^-?\d{1,16}$/.test(after)) return Number(after);
  throw new SearchRefused('after', 'after is not from an answer', 'Give back what the answer before had, unchanged.');
}

/** The fields that answers and details share. */
function commonFields(row: FeedbackTable, contacts: boolean): Omit<FoundEntry, 'comment' | 'code'> {
  return {
    org: row.org_id,
    project: row.project_id,
    id: row.id,
    source: row.source,
    status: row.status,
    helpful: row.helpful === null ? null : row.helpful === 1,
    path: row.path,
    document: documentKey(row.path),
    createdAt: row.created_at_utc,
    firstSeenAt: row.first_seen_at,
    filename: row.filename,
    lang: row.lang,
    contact: contacts ? row.contact : null,
  };
}

/** Counts the newest 10,000 hits by document; ignores `after` and `contacts`. Throws `SearchRefused`. */
export async function findDocuments(db: Db, query: SearchQuery): Promise<DocumentAnswer> {
  const wanted = wantedOf(query);
  const limit = limitOf(query);
  const hits = await countedHits(db, wanted);
  const documents = new Map<string, FoundDocument>();
  for (const row of hits.slice(0, mostGrouped)) {
    const document = documentKey(row.path);
    const key = JSON.stringify([row.org_id, row.project_id, document]);
    const known = documents.get(key) ?? {
      org: row.org_id,
      project: row.project_id,
      document,
      entries: 0,
      helpful: { yes: 0, no: 0 },
      // Hits come newest first.
      latest: row.created_at_utc,
    };
    const { yes, no } = known.helpful;
    documents.set(key, {
      ...known,
      entries: known.entries + 1,
      helpful: { yes: yes + Number(row.helpful === 1), no: no + Number(row.helpful === 0) },
    });
  }
  // Sorting is stable: of equal counts the one with the newest hit comes first.
  const sorted = [...documents.values()].sort((a, b) => b.entries - a.entries);
  return {
    documents: sorted.slice(0, limit),
    total: { count: Math.min(hits.length, mostGrouped), isExact: hits.length <= mostGrouped },
    more: Math.max(0, sorted.length - limit),
    index: await indexProgress(db),
  };
}

/** Votes and comments by part of an axis, of all hits on it: the database counts them, by its index. Throws `SearchRefused`. */
export async function findTrend(db: Db, selection: EntrySelection, axis: TimeAxis): Promise<TrendPart[]> {
  const wanted = wantedOf({ ...selection, ...(axis.starts[0] !== undefined && { since: axis.starts[0] }) });
  const { rows } = await sql<Record<keyof TrendPart, number | string> & { part: number | null }>`
    select ${intervalOf(axis, sql`f.created_at_utc`)} as part,
      ${votedYes} as yes, ${votedNo} as no, ${countWhere(sql`trim(f.comment) <> ''`)} as comments
    from (select e.project_id, e.id from ${matching(db, wanted)}) as hit
    join feedback as f on f.project_id = hit.project_id and f.id = hit.id
    group by 1`.execute(db);
  return axis.starts.map((_, index) => {
    const { yes = 0, no = 0, comments = 0 } = rows.find(({ part }) => part === index) ?? {};
    return { yes: Number(yes), no: Number(no), comments: Number(comments) };
  });
}

/** All hits as records in the order of `findEntries`. Without `contacts`, `contact` is null and `extra` empty. */
export async function* findRecords(
  db: Db,
  selection: EntrySelection & { contacts?: boolean },
): AsyncGenerator<FeedbackRecord, void, undefined> {
  const wanted = wantedOf(selection);
  for (let below: number | null = null; ; ) {
    const hits = await nextHits(db, wanted, below, rowsPerStatement);
    for await (const row of readRows(db, hits)) {
      const record = recordOf(row);
      yield selection.contacts === true ? record : { ...record, contact: null, extra: {} };
    }
    const last = hits.at(-1);
    if (last === undefined || hits.length < rowsPerStatement) return;
    below = last.place;
  }
}

/** A status that flips changes with every sync. */
const mostChanges = 200;

/** One entry whole, with its history; null when there is none. */
export async function entryDetail(
  db: Db,
  project: string,
  id: string,
  { contacts = false }: { contacts?: boolean } = {},
): Promise<EntryDetail | null> {
  const key = { project_id: storedText(project), id: storedText(id) };
  const row = await db
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', key.project_id)
    .where('id', '=', key.id)
    .executeTakeFirst();
  if (row === undefined) return null;
  const changes = await db
    .selectFrom('feedback_changes')
    .select(['field', 'old', 'new', 'seen_at'])
    .where('project_id', '=', key.project_id)
    .where('id', '=', key.id)
    .orderBy('seen_at', 'desc')
    // An entry returns before its status changes.
    .orderBy('field', 'desc')
    .limit(mostChanges + 1)
    .execute();
  return {
    ...commonFields(row, contacts),
    comment: row.comment,
    code: row.code,
    createdAtAsSent: row.created_at,
    lastSeenAt: row.last_seen_at,
    deletedAt: row.deleted_at,
    changes: inOrder(changes.slice(0, mostChanges), row).map(fieldsOf),
    hasEarlierChanges: changes.length > mostChanges,
  };
}

type Change = Omit<FeedbackDatabase['feedback_changes'], 'project_id' | 'id'>;

/** From the entry as it is now back: of the changes of one moment, which no column orders, each led to the next. */
function inOrder(latestFirst: readonly Change[], { status, deleted_at }: FeedbackTable): Change[] {
  const reached = new Map(Object.entries({ status, deleted_at }));
  const left = [...latestFirst];
  const ordered: Change[] = [];
  for (let change = left[0]; change !== undefined; change = left[0]) {
    const { seen_at } = change;
    const fits = left.findIndex((one) => one.seen_at === seen_at && one.new === reached.get(one.field));
    const [last = change] = left.splice(Math.max(fits, 0), 1);
    reached.set(last.field, last.old);
    ordered.unshift(last);
  }
  return ordered;
}
