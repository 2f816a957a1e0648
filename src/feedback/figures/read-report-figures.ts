import { type Expression, type RawBuilder, sql } from 'kysely';
import { shortTexts } from '../../rules/text.ts';
import { closedStatuses, openStatuses } from '../rules/feedback-entry.ts';
import {
  type AgentPage,
  type Complaint,
  type Excerpt,
  type RecentComment,
  type ReportFigures,
  type ReportQuery,
  type Series,
  type TimeAxis,
  timeAxis,
  type Votes,
  type Waits,
} from '../rules/report-figures.ts';
import { countRows, documentOf, isPostgres, liveEntries, openSnapshot, within } from '../store/queries.ts';
import type { Db } from '../store/tables.ts';

interface ReportScope {
  /** One snapshot for all the queries of a report. */
  db: Db;
  query: ReportQuery;
}

type Entries = ReturnType<typeof liveEntries>;

/** The entries the report is about. */
function reportRows({ db, query }: ReportScope) {
  return liveEntries(db, query).where(within('created_at_utc', query.from, query.to));
}

/** How many rows satisfy a condition. */
export function countWhere(condition: Expression<unknown>): RawBuilder<number | string> {
  return sql`count(case when ${condition} then 1 end)`;
}

export const votedYes = countWhere(sql`helpful = 1`);
export const votedNo = countWhere(sql`helpful = 0`);

/** The interval of the axis in which a moment lies, counted from 0; null outside the axis. */
export function intervalOf(axis: TimeAxis, moment: RawBuilder<string>): RawBuilder<number | null> {
  const ends = [...axis.starts.slice(1), axis.end];
  const cases = ends.map((end, index) => sql`when ${moment} < ${end} then ${sql.lit(index)}`);
  return sql`case when ${moment} < ${axis.starts[0]} then null ${sql.join(cases, sql` `)} end`;
}

/** Characters shown of a comment; some have megabytes. */
const excerptLength = 1_200;

/** `text` is the beginning of a comment; the database counts `characters` in all. */
function excerptOf(text: string, characters: number): Excerpt {
  return { text, cut: Math.max(0, characters - excerptLength) };
}

/** Entries with a comment: how many, and the newest of them; those without a date come last. */
async function recentComments(scope: ReportScope): Promise<Pick<ReportFigures, 'commented' | 'recent'>> {
  const commented = reportRows(scope).where(sql<boolean>`trim(comment) <> ''`);
  const { all } = await commented.select((row) => row.fn.countAll().as('all')).executeTakeFirstOrThrow();
  const newest = (dated: boolean, limit: number) =>
    commented
      .where('created_at_utc', dated ? 'is not' : 'is', null)
      .select([
        'path',
        'source',
        'status',
        'helpful',
        'created_at_utc',
        sql<string>`substr(comment, 1, ${sql.lit(excerptLength)})`.as('text'),
        sql<number>`length(comment)`.as('characters'),
      ])
      .orderBy('created_at_utc', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
  const dated = await newest(true, scope.query.comments);
  const undated = await newest(false, scope.query.comments - dated.length);
  const recent = [...dated, ...undated].map(
    ({ path, source, status, helpful, created_at_utc, text, characters }): RecentComment => ({
      ...excerptOf(text, Number(characters)),
      path,
      source,
      status,
      helpful: helpful === null ? null : helpful === 1,
      createdAt: created_at_utc,
    }),
  );
  return { commented: Number(all), recent };
}

interface OverTime {
  /** Entries that lie on the axis. */
  onAxis: number;
  sources: Series[];
  statuses: Series[];
  helpful: Votes[];
}

/** Sources and statuses that are counted separately; a service may send any number of new ones. */
const shownNames = 6;

/** Counts the entries by interval of the axis, source, status and vote: one walk over the entries, few rows. */
async function reportOverTime(scope: ReportScope, entries: number, axis: TimeAxis | null): Promise<OverTime> {
  const intervals = axis?.starts.length ?? 0;
  const sources = await mostFrequent(scope, 'source', entries, intervals);
  const statuses = await mostFrequent(scope, 'status', entries, intervals);
  const helpful = Array.from({ length: intervals }, () => ({ yes: 0, no: 0 }));
  if (axis === null) return { onAxis: 0, sources, statuses, helpful };

  const cells = await reportRows(scope)
    .where('created_at_utc', '>=', axis.starts[0] ?? '')
    .where('created_at_utc', '<', axis.end)
    .select((row) => [
      intervalOf(axis, sql<string>`created_at_utc`).as('interval'),
      oneOf('source', sources).as('shown_source'),
      oneOf('status', statuses).as('shown_status'),
      sql<number | null>`case when source = 'contextual' then helpful end`.as('vote'),
      row.fn.countAll().as('entries'),
    ])
    .groupBy(['interval', 'shown_source', 'shown_status', 'vote'])
    .execute();
  let onAxis = 0;
  for (const { interval, shown_source, shown_status, vote, entries } of cells) {
    const count = Number(entries);
    const at = Number(interval);
    onAxis += count;
    add(sources, shown_source, at, count);
    add(statuses, shown_status, at, count);
    const votes = helpful[at];
    if (votes !== undefined && vote === 1) votes.yes += count;
    if (votes !== undefined && vote === 0) votes.no += count;
  }
  return { onAxis, sources, statuses, helpful };
}

/** How many entries have a value in common. */
export interface Count {
  name: string;
  entries: number;
}

/** How many of the entries have each source or status, most entries first. */
export async function entriesBy(rows: Entries, column: 'source' | 'status', most?: number): Promise<Count[]> {
  const counts = await rows
    .select((row) => [row.ref(column).as('name'), row.fn.countAll().as('entries')])
    .groupBy(column)
    .orderBy('entries', 'desc')
    .orderBy(column)
    .$if(most !== undefined, (query) => query.limit(most ?? 0))
    .execute();
  return counts.map(({ name, entries }) => ({ name, entries: Number(entries) }));
}

/** Votes of contextual entries. */
export async function countVotes(rows: Entries): Promise<Votes> {
  const { yes, no } = await rows
    .where('source', '=', 'contextual')
    .select([votedYes.as('yes'), votedNo.as('no')])
    .executeTakeFirstOrThrow();
  return { yes: Number(yes), no: Number(no) };
}

/** The most frequent values over time, zeros included, and the rest together. */
async function mostFrequent(
  scope: ReportScope,
  column: 'source' | 'status',
  all: number,
  intervals: number,
): Promise<Series[]> {
  const zeros = () => Array.from({ length: intervals }, () => 0);
  const found = await entriesBy(reportRows(scope), column, shownNames);
  const named: Series[] = found.map((count) => ({ ...count, over: zeros() }));
  const rest = all - named.reduce((sum, { entries }) => sum + entries, 0);
  return rest === 0 ? named : [...named, { name: null, entries: rest, over: zeros() }];
}

/** The column's value where it is one of the series, null elsewhere. */
function oneOf(column: 'source' | 'status', series: readonly Series[]): RawBuilder<string | null> {
  const names = series.flatMap(({ name }) => (name === null ? [] : [name]));
  if (names.length === 0) return sql`null`;
  return sql`case when ${sql.ref(column)} in (${sql.join(names)}) then ${sql.ref(column)} end`;
}

function add(series: readonly Series[], name: string | null, at: number, count: number): void {
  const found = series.find((one) => one.name === name);
  if (found !== undefined) found.over[at] = (found.over[at] ?? 0) + count;
}

const shownPaths = 12;
const shownAgentPaths = 8;
const complaintsOfPath = 3;

async function votedPages(scope: ReportScope): Promise<Pick<ReportFigures, 'votedPages' | 'mostVoted' | 'worst'>> {
  const voted = reportRows(scope).where('source', '=', 'contextual').where('helpful', 'is not', null);
  const document = documentOf(scope.db);
  const { pages } = await voted
    .select((row) => row.fn.count(document).distinct().as('pages'))
    .executeTakeFirstOrThrow();
  const byPath = voted.select([document.as('document'), votedYes.as('yes'), votedNo.as('no')]).groupBy(document);
  const mostVoted = await byPath.orderBy(sql`count(*)`, 'desc').orderBy('document').limit(shownPaths).execute();
  const worst = await worstPages(scope.db, reportRows(scope), shownPaths);
  return { votedPages: Number(pages), mostVoted: mostVoted.map(votesOf), worst };
}

/** The pages with most votes against them. */
export async function worstPages(db: Db, rows: Entries, most: number): Promise<(Votes & { path: string })[]> {
  const document = documentOf(db);
  const worst = await rows
    .where('source', '=', 'contextual')
    .select([document.as('document'), votedYes.as('yes'), votedNo.as('no')])
    .groupBy(document)
    .having(votedNo, '>', 0)
    .orderBy('no', 'desc')
    .orderBy('yes')
    .orderBy('document')
    .limit(most)
    .execute();
  return worst.map(votesOf);
}

function votesOf({ document, yes, no }: { document: string; yes: number | string; no: number | string }) {
  return { path: document, yes: Number(yes), no: Number(no) };
}

/** The pages with most feedback of agents, each with the comments that occur most often. */
async function agentPages(scope: ReportScope): Promise<ReportFigures['agents']> {
  const document = documentOf(scope.db);
  const ofAgents = reportRows(scope).where('source', '=', 'agent');
  const totals = await ofAgents
    .select((row) => [row.fn.countAll().as('entries'), row.fn.count(document).distinct().as('paths')])
    .executeTakeFirstOrThrow();
  const open = countWhere(sql`status in (${sql.join(openStatuses)})`);
  const rows = await ofAgents
    .select((row) => [document.as('document'), row.fn.countAll().as('entries'), open.as('open')])
    .groupBy(document)
    .orderBy('entries', 'desc')
    .orderBy('open', 'desc')
    .orderBy('document')
    .limit(shownAgentPaths)
    .execute();
  const complaints = await complaintsOn(scope, scope.query.comments === 0 ? [] : rows.map((row) => row.document));
  const pages = rows.map(
    ({ document: path, entries, open }): AgentPage => ({
      path,
      entries: Number(entries),
      open: Number(open),
      complaints: complaints.get(path) ?? [],
    }),
  );
  return { entries: Number(totals.entries), paths: Number(totals.paths), pages };
}

/** The comments that occur most often on each page, then the newest: agents say the same thing many times. */
async function complaintsOn(scope: ReportScope, paths: readonly string[]): Promise<Map<string, Complaint[]>> {
  const found = new Map<string, Complaint[]>(paths.map((path) => [path, []]));
  if (paths.length === 0) return found;
  const document = documentOf(scope.db);
  const grouped = reportRows(scope)
    .where('source', '=', 'agent')
    .where(document, 'in', paths)
    .where(sql<boolean>`trim(comment) <> ''`)
    .select((row) => [
      document.as('document'),
      sql<string>`substr(comment, 1, ${sql.lit(excerptLength)})`.as('said'),
      row.fn.max(sql<number>`length(comment)`).as('characters'),
      row.fn.countAll().as('times'),
      row.fn.max('created_at_utc').as('newest'),
    ])
    .groupBy([document, 'said']);
  const ranked = scope.db
    .selectFrom(grouped.as('grouped'))
    .selectAll()
    .select(
      sql<number>`row_number() over (partition by document order by times desc, coalesce(newest, '') desc, said)`.as(
        'place',
      ),
    );
  const rows = await scope.db
    .selectFrom(ranked.as('ranked'))
    .selectAll()
    .where('place', '<=', complaintsOfPath)
    .orderBy('document')
    .orderBy('place')
    .execute();
  for (const { document: path, said, characters, times } of rows) {
    found.get(path)?.push({ ...excerptOf(said, Number(characters)), times: Number(times) });
  }
  return found;
}

/**
 * How long entries that are closed now waited: from creation to the last closing that a sync saw (S5), at the time of
 * that sync. Entries first seen closed do not count.
 */
async function reportWaits(
  scope: ReportScope,
  axis: TimeAxis | null,
): Promise<Pick<ReportFigures, 'waits' | 'waitsOver'>> {
  const [waits = null] = await quantiles(scope, sql`0`, 1);
  if (axis === null) return { waits, waitsOver: [] };
  const closedAt = sql<string>`closed_at`;
  return { waits, waitsOver: await quantiles(scope, intervalOf(axis, closedAt), axis.starts.length) };
}

/** Nearest-rank quantiles of the waits of each interval. */
async function quantiles(
  scope: ReportScope,
  interval: RawBuilder<number | null>,
  intervals: number,
): Promise<(Waits | null)[]> {
  const waits = closingsInRange(scope).select([
    interval.as('interval'),
    secondsBetween(scope, sql`opened_at`, sql`closed_at`).as('seconds'),
  ]);
  const ranked = scope.db
    .selectFrom(waits.as('waits'))
    .where('interval', 'is not', null)
    .select([
      'interval',
      'seconds',
      sql<number>`row_number() over (partition by interval order by seconds)`.as('place'),
      sql<number>`count(*) over (partition by interval)`.as('closed'),
    ]);
  const rows = await scope.db
    .selectFrom(ranked.as('ranked'))
    .selectAll()
    .where(({ eb, or }) => or([eb('place', '=', rank(50)), eb('place', '=', rank(90))]))
    .orderBy('interval')
    .orderBy('place')
    .execute();
  return Array.from({ length: intervals }, (_, index) => {
    const [median, p90 = median] = rows.filter((row) => Number(row.interval) === index);
    if (median === undefined || p90 === undefined) return null;
    const ms = (seconds: number | string) => Math.round(Number(seconds) * 1000);
    return { closed: Number(median.closed), medianMs: ms(median.seconds), p90Ms: ms(p90.seconds) };
  });
}

function rank(percent: number): RawBuilder<number> {
  return sql`(closed * ${sql.lit(percent)} + 99) / 100`;
}

function closingsInRange(scope: ReportScope) {
  return scope.db
    .selectFrom(closings(scope).as('closings'))
    .whereRef('closed_at', '>', 'opened_at')
    .where(within('closed_at', scope.query.from, scope.query.to));
}

/** Only with `from` can a closing come before all entries of the report: it is of an entry created earlier. */
async function firstClosing(scope: ReportScope): Promise<string | null> {
  if (scope.query.from === undefined) return null;
  const { first } = await closingsInRange(scope)
    .select((row) => row.fn.min('closed_at').as('first'))
    .executeTakeFirstOrThrow();
  return first;
}

/** When each entry that is closed now was created, and when it was last seen to be closed. */
function closings({ db, query }: ReportScope) {
  return db
    .selectFrom('feedback_changes as change')
    .innerJoin('feedback as entry', (join) =>
      join.onRef('entry.project_id', '=', 'change.project_id').onRef('entry.id', '=', 'change.id'),
    )
    .where('change.project_id', '=', query.project)
    .where('change.field', '=', 'status')
    .where('change.old', 'in', openStatuses)
    .where('change.new', 'in', closedStatuses)
    .where('entry.org_id', '=', query.org)
    .where('entry.deleted_at', 'is', null)
    .where('entry.status', 'in', closedStatuses)
    .where('entry.created_at_utc', 'is not', null)
    .groupBy(['entry.id', 'entry.created_at_utc'])
    .select((row) => ['entry.created_at_utc as opened_at', row.fn.max('change.seen_at').as('closed_at')]);
}

function secondsBetween({ db }: ReportScope, from: RawBuilder<unknown>, to: RawBuilder<unknown>) {
  return isPostgres(db)
    ? sql<number | string>`extract(epoch from (${to})::timestamptz - (${from})::timestamptz)`
    : sql<number | string>`(julianday(${to}) - julianday(${from})) * 86400.0`;
}

/** The longest path, source or status shown, in UTF-16 units: a page repeats each several times. */
const longestText = 2 * excerptLength;

/** The figures of `feedback report` (contracts.md), counted by the database in one snapshot: few rows reach us. */
export async function reportFigures(db: Db, query: ReportQuery): Promise<ReportFigures> {
  const snapshot = await openSnapshot(db);
  try {
    return shortTexts(await figures({ db: snapshot, query }), longestText);
  } finally {
    await snapshot.rollback().execute();
  }
}

async function figures(scope: ReportScope): Promise<ReportFigures> {
  const { from, to, now } = scope.query;
  const bounded = from !== undefined || to !== undefined;
  const isOpen = sql<boolean>`status in (${sql.join(openStatuses)})`;
  const totals = await reportRows(scope)
    .select((row) => [
      row.fn.countAll().as('entries'),
      row.fn.count('created_at_utc').as('dated'),
      row.fn.min('created_at_utc').as('oldest'),
      countWhere(isOpen).as('open'),
      sql<string | null>`min(case when ${isOpen} then created_at_utc end)`.as('oldestOpen'),
    ])
    .executeTakeFirstOrThrow();
  const [entries, dated] = [Number(totals.entries), Number(totals.dated)];
  const moments = [totals.oldest, await firstClosing(scope)].filter((moment) => moment !== null);
  const axis = timeAxis({
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    oldest: moments.sort()[0] ?? null,
    now,
  });
  const overTime = await reportOverTime(scope, entries, axis);
  return {
    entries,
    undated: entries - dated,
    undatedLeftOut: bounded
      ? await countRows(liveEntries(scope.db, scope.query).where('created_at_utc', 'is', null))
      : 0,
    axis,
    outsideAxis: dated - overTime.onAxis,
    sources: overTime.sources,
    statuses: overTime.statuses,
    open: { entries: Number(totals.open), oldest: totals.oldestOpen },
    helpful: await countVotes(reportRows(scope)),
    helpfulOver: overTime.helpful,
    ...(await votedPages(scope)),
    ...(await reportWaits(scope, axis)),
    agents: await agentPages(scope),
    ...(await recentComments(scope)),
  };
}
