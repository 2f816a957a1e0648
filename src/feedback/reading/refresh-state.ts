import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import { refreshWorkflowId } from '../../rules/workflow-ids.ts';
import { openStatuses, type ProjectKey } from '../rules/feedback-entry.ts';
import { type ExpectedDelays, expectedDelays, measuredDelay, type ProjectDelays } from '../rules/refresh/expected.ts';
import { type KnownWindow, type Pace, paceFrom, requestsAnHour } from '../rules/refresh/pace.ts';
import { type Cut, changeOfSums, type PageSums, type RefreshPage } from '../rules/refresh/pages.ts';
import { arrived, dayMs, hourMs, type Lesson, lessonOf, type RefreshEntry } from '../rules/refresh/rates.ts';
import { isoText } from '../rules/slice.ts';
import { type ConfiguredRefresh, type RefreshedProject, refreshedProjects } from '../rules/sync.ts';
import { noteChanges } from '../store/outgoing-entries.ts';
import { batchesOf, liveEntries, ofProject, storedEntries, wantedKeys } from '../store/queries.ts';
import { columnsOf, type Db, type FeedbackDatabase, type FeedbackTable, fieldsOf, type Trx } from '../store/tables.ts';

type PageRow = Selectable<FeedbackDatabase['refresh_pages']>;
export type ProjectRow = Selectable<FeedbackDatabase['refresh_projects']>;

/** Bounds of pages that have none: outside all dates. */
const [beginning, end] = [-8.64e15, 8.64e15];

/** So many pages are compared by their worth beside those. */
const candidates = 20;
/** Nothing is left alone for longer: a later moment is of a clock that was ahead. */
export const longestPauseMs = 6 * hourMs;
/** As in `worthOf`. */
const leastRate = sql.lit(1e-6);

/** What an organization's next request is chosen from. */
export type RefreshView = Awaited<ReturnType<typeof refreshView>>;

/** What the next request is chosen from at a moment, without a look at entries. */
export async function refreshView(db: Db, org: string, projects: readonly RefreshedProject[], at: number) {
  /** The pages that may be worth most, and all that bring new entries or were found to lack some. */
  const pages = await candidatePages(db, org, projects, at);
  /** When the first page that is left alone may be read, if all are; null when none is left alone. */
  const readableFrom = pages.length > 0 ? null : await firstPauseEnd(db, org, at);
  return { ...(await refreshState(db, org, projects, at)), pages, readableFrom };
}

async function firstPauseEnd(db: Db, org: string, at: number): Promise<number | null> {
  const { moment } = await db
    .selectFrom('refresh_pages')
    .select((row) => row.fn.min('not_before').as('moment'))
    .where('org_id', '=', org)
    .where('not_before', '>', at)
    .executeTakeFirstOrThrow();
  return moment;
}

/** Pace and projects at a moment. */
async function refreshState(db: Db, org: string, projects: readonly RefreshedProject[], at: number) {
  const saved = await db.selectFrom('refresh_paces').select('pace').where('org_id', '=', org).executeTakeFirst();
  const rows = await db
    .selectFrom('refresh_projects as p')
    .leftJoin('sync_passes as r', 'r.pass_id', 'p.first_pass')
    .selectAll('p')
    .select('r.pages')
    .where('p.org_id', '=', org)
    .execute();
  const reading = await db
    .selectFrom('refresh_pages')
    .select(['project_id', 'pass_id'])
    .where('org_id', '=', org)
    .where('pass_id', 'is not', null)
    .execute();
  const half = new Map(reading.map((row) => [row.project_id, row.pass_id]));
  const known = new Map(rows.map((row) => [row.project_id, row]));
  return {
    pace: paceFrom(saved === undefined ? null : (JSON.parse(saved.pace) as Pace), at),
    projects: projects.map((project) => ({
      ...projectView(project, known.get(project.project), at),
      /** The pass of a page that is read by half. */
      halfRead: half.get(project.project) ?? null,
    })),
  };
}

/** All pages of the projects, and what decides how often they are read: what can be expected (`expectedDelays`). */
export async function refreshOutlook(
  db: Db,
  org: string,
  projects: readonly RefreshedProject[],
  at: number,
): Promise<Omit<RefreshView, 'readableFrom'>> {
  const rows = await db.selectFrom('refresh_pages').selectAll().where('org_id', '=', org).execute();
  return { ...(await refreshState(db, org, projects, at)), pages: rows.map(pageOf) };
}

/** Delays are measured on the latest entries: at most this many, none older than this. */
const [measured, measuredMs] = [200, 7 * dayMs];

/** How late the store learns of changes in these projects: as the plan expects, given the window, and as measured. */
export async function refreshDelays(
  db: Db,
  organization: ConfiguredRefresh,
  window: KnownWindow,
  at: number,
): Promise<Map<string, ProjectDelays>> {
  const { id: org, refresh, projects } = organization;
  const expected = new Map<string, ExpectedDelays>();
  if (refresh !== undefined) {
    const { pages, projects: views, pace } = await refreshOutlook(db, org, refreshedProjects(organization), at);
    const settings = { perHour: requestsAnHour(refresh.share, pace, window, at), everyMs: refresh.everyMs, at };
    for (const { project, intervalMs: _, ...delays } of expectedDelays(pages, views, settings).projects) {
      expected.set(project, delays);
    }
  }
  const found = new Map<string, ProjectDelays>();
  for (const { id: project } of projects) {
    const delays = await delaysOfNew(db, { org, project }, at);
    found.set(project, { expected: expected.get(project) ?? null, measured: measuredDelay(delays) });
  }
  return found;
}

/** Delays of the latest entries, in milliseconds; entries older than the project's first reading do not count. */
async function delaysOfNew(db: Db, { org, project }: ProjectKey, at: number): Promise<number[]> {
  const first = await db
    .selectFrom('sync_passes')
    .select('started_at')
    .where(ofProject(org, project))
    .where('workflow_id', 'like', refreshWorkflowId('%'))
    .orderBy('started_at')
    .limit(1)
    .executeTakeFirst();
  if (first === undefined) return [];
  const rows = await storedEntries(db, { org, project })
    .select(['created_at_utc', 'first_seen_at'])
    .where('created_at_utc', '>=', isoText(Math.max(Date.parse(first.started_at), at - measuredMs)))
    .orderBy('created_at_utc', 'desc')
    .limit(measured)
    .execute();
  return rows.map((row) => Date.parse(row.first_seen_at) - Date.parse(row.created_at_utc ?? row.first_seen_at));
}

/** The projects that answered since a moment, and of which refresh has set no page aside after a failure. */
export async function readableProjects(db: Db, org: string, since: number, at: number): Promise<string[]> {
  const rows = await db
    .selectFrom('refresh_projects as p')
    .select('p.project_id')
    .where('p.org_id', '=', org)
    .where('p.answered_at', '>=', isoText(since))
    .where('p.not_before', '<=', at)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('refresh_pages as g')
            .select('g.project_id')
            .whereRef('g.org_id', '=', 'p.org_id')
            .whereRef('g.project_id', '=', 'p.project_id')
            .where('g.not_before', '>', 0)
            // That of all pages was the project's: it is over.
            .whereRef('g.not_before', '<>', 'p.not_before'),
        ),
      ),
    )
    .execute();
  return rows.map(({ project_id }) => project_id);
}

/** A project as the next request is chosen. Moments in milliseconds. */
function projectView(project: RefreshedProject, row: (ProjectRow & { pages: number | null }) | undefined, at: number) {
  return {
    ...project,
    arrivals: { at: row?.arrivals_at ?? 0, long: row?.arrivals_long ?? 0, short: row?.arrivals_short ?? 0 },
    headReadAt: row?.head_read_at ? Date.parse(row.head_read_at) : null,
    /** Whether its lists are cut into pages, and when. */
    cutAt: row?.cut_at ?? null,
    /** The pass of its first reading, while that goes on, with the pages that it has read. */
    firstPass: row?.first_pass ? { passId: row.first_pass, pages: row.pages ?? 0 } : null,
    /** After a failure, its first reading goes on at this moment. */
    notBefore: row === undefined || row.not_before > at + longestPauseMs ? 0 : row.not_before,
  };
}

/** The order of `worthOf`, but for new entries: only heads bring those, and all heads are candidates. */
async function candidatePages(
  db: Db,
  org: string,
  projects: readonly RefreshedProject[],
  at: number,
): Promise<RefreshPage[]> {
  const keys = projects.map(({ project, weight }) => [project, `${weight}`]);
  const t = sql`((${at} - p.cut_at) / ${sql.lit(hourMs)})`;
  const since = sql`(p.left_entries * ${t} - p.left_since)`;
  const many = sql`(p.left_entries * (p.left_entries + 1.0) / (4 * case when p.rate > ${leastRate} then p.rate else ${leastRate} end))`;
  const known = sql`case when p.left_entries = 0 then 0 when ${since} > ${many} then ${since} else ${many} end`;
  const changes = sql`(p.rate * ${t} * ${t} - 2 * p.rate_seen * ${t} + p.rate_seen_squared) / 2`;
  const worth = sql`cast(w.weight as double precision) / p.requests * (${changes} + ${known})`;
  const isHead = sql`p.list <> 'undated' and p.date_to >= ${sql.lit(end)}`;
  const rank = sql`case when ${isHead} then 2 when p.again_from <= ${at} then 1 else 0 end`;
  const most = 2 * projects.length + candidates;
  // Not a plain join: SQLite would read the list of projects anew for each page.
  const { rows } =
    await sql<PageRow>`with wanted (project_id, weight) as (${wantedKeys(db, keys, 2)}) select p.* from wanted w cross join refresh_pages p
    where p.org_id = ${org} and p.project_id = w.project_id and not (p.not_before > ${at} and p.not_before <= ${at + longestPauseMs})
    order by ${rank} desc, ${worth} desc limit ${sql.lit(most)}`.execute(db);
  return rows.map(pageOf);
}

export function pageOf(row: PageRow): RefreshPage {
  const {
    orgId: _org,
    projectId,
    dateFrom,
    dateTo,
    leftEntries,
    notBefore: _moment,
    passId: _pass,
    ...page
  } = fieldsOf(row);
  return {
    ...page,
    project: projectId,
    from: dateFrom <= beginning ? null : dateFrom,
    to: dateTo >= end ? null : dateTo,
    left: leftEntries,
  };
}

/** Writes pages of a list over those of the same beginning. */
export async function writePages(db: Trx, org: string, pages: readonly RefreshPage[]): Promise<void> {
  const rows = pages.map(({ project, from, to, left, ...page }) => ({
    ...columnsOf(page),
    org_id: org,
    project_id: project,
    date_from: from ?? beginning,
    date_to: to ?? end,
    left_entries: left,
    not_before: 0,
    pass_id: null,
  }));
  for (const batch of batchesOf(rows)) await db.insertInto('refresh_pages').values(batch).execute();
}

/** What names the one row of a page. */
type PageKey = Pick<RefreshPage, 'project' | 'list' | 'from'>;

const isPage =
  (org: string, { project, list, from }: PageKey) =>
  ({ and }: ExpressionBuilder<FeedbackDatabase, 'refresh_pages'>) =>
    and({ org_id: org, project_id: project, list, date_from: from ?? beginning });

export const changePage = (db: Trx, org: string, page: PageKey) =>
  db.updateTable('refresh_pages').where(isPage(org, page));

export async function deletePage(db: Trx, org: string, page: PageKey): Promise<void> {
  await db.deleteFrom('refresh_pages').where(isPage(org, page)).execute();
}

export function pagesOfProject(db: Db, { org, project }: ProjectKey) {
  return db.selectFrom('refresh_pages').selectAll().where(ofProject(org, project));
}

/** Inserts or replaces the pace of an organization. */
export async function savePace(db: Trx, org: string, pace: Pace): Promise<void> {
  const values = { pace: JSON.stringify(pace) };
  await db
    .insertInto('refresh_paces')
    .values({ org_id: org, ...values })
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet(values))
    .execute();
}

/** The row of a project, made when it is missing. */
export async function refreshProject(db: Trx, key: ProjectKey): Promise<ProjectRow> {
  await db
    .insertInto('refresh_projects')
    .values({ org_id: key.org, project_id: key.project })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return await projectRow(db, key).executeTakeFirstOrThrow();
}

export function projectRow(db: Db, { org, project }: ProjectKey) {
  return db.selectFrom('refresh_projects').selectAll().where(ofProject(org, project));
}

export async function changeProject(
  db: Trx,
  { org, project }: ProjectKey,
  change: Partial<Omit<ProjectRow, 'org_id' | 'project_id'>>,
): Promise<void> {
  if (Object.keys(change).length === 0) return;
  await db.updateTable('refresh_projects').set(change).where(ofProject(org, project)).execute();
}

export const cutOf = ({ cut_at, rates }: ProjectRow): Cut | null =>
  cut_at === null || rates === null ? null : { at: cut_at, rates: JSON.parse(rates) as number[] };

/** The date of the entry next to a moment: the last one before it, or the first one from it on; null for none. */
export async function neighbour(
  db: Db,
  key: ProjectKey,
  moment: number | null,
  which: 'older' | 'newer',
): Promise<string | null> {
  const text = isoText(moment ?? end);
  const found = await liveEntries(db, key)
    .select('created_at_utc')
    .where('created_at_utc', which === 'older' ? '<' : '>=', moment === null ? '9999' : text)
    .orderBy('created_at_utc', which === 'older' ? 'desc' : 'asc')
    .limit(1)
    .executeTakeFirst();
  return found?.created_at_utc ?? null;
}

type EntryRow = Pick<FeedbackTable, 'created_at_utc' | 'status' | 'last_seen_at'>;
interface Mark {
  changed_at: number | null;
  left_at: number | null;
}

export function refreshEntry(row: EntryRow, mark: Mark | undefined): RefreshEntry {
  return {
    createdAt: row.created_at_utc === null ? null : Date.parse(row.created_at_utc),
    status: row.status,
    seenAt: Date.parse(row.last_seen_at),
    changedAt: mark?.changed_at ?? null,
    leftAt: mark?.left_at ?? null,
  };
}

/** The live entries of a project with refresh's notes on them; callers add conditions. */
export function notedEntries(db: Db, { org, project }: ProjectKey) {
  return db
    .selectFrom('feedback as f')
    .leftJoin('refresh_entries as m', (join) =>
      join.onRef('m.project_id', '=', 'f.project_id').onRef('m.id', '=', 'f.id'),
    )
    .where('f.project_id', '=', project)
    .where('f.org_id', '=', org)
    .where('f.deleted_at', 'is', null)
    .select(['f.id', 'f.created_at_utc', 'f.status', 'f.last_seen_at', 'm.changed_at', 'm.left_at']);
}

/** The entries of a page's list within its dates, newest first. */
export async function entriesOfPage(
  db: Db,
  org: string,
  { project, list, from, to }: Pick<RefreshPage, 'project' | 'list' | 'from' | 'to'>,
): Promise<(RefreshEntry & { id: string; moment: string | null })[]> {
  const rows = await notedEntries(db, { org, project })
    .where('f.created_at_utc', list === 'undated' ? 'is' : 'is not', null)
    // As `isOpen`: closed ones may be many thousand for a page of open ones.
    .$if(list === 'open', (query) => query.where('f.status', 'in', openStatuses).where('m.left_at', 'is', null))
    .$if(from !== null, (query) => query.where('f.created_at_utc', '>=', isoText(from ?? 0)))
    .$if(to !== null, (query) => query.where('f.created_at_utc', '<', isoText(to ?? 0)))
    .orderBy('f.created_at_utc', 'desc')
    .orderBy('f.id', 'desc')
    .execute();
  return rows.map((row) => ({ ...refreshEntry(row, row), id: row.id, moment: row.created_at_utc }));
}

/** An entry's row before and after it was written; null for none. */
export interface RowChange {
  id: string;
  before: (EntryRow & { deleted_at: string | null }) | null;
  /** Null for a row that is tombstoned now. */
  after: EntryRow | null;
  /** Whether its content differs. */
  changed: boolean;
}

interface EntryChange extends Pick<RowChange, 'changed'> {
  before: RefreshEntry | null;
  after: RefreshEntry | null;
}

/**
 * Takes what a reading or a tombstone has changed over into sums of pages, rates, arrivals and the order of changes
 * that webhooks follow, in the transaction that writes the rows, of whatever pass (S4).
 */
export async function noteRows(db: Trx, key: ProjectKey, rows: readonly RowChange[], at: Date): Promise<void> {
  const isNews = ({ before, changed }: RowChange) => before === null || changed || before.deleted_at !== null;
  const ids = rows.filter(isNews).map(({ id }) => id);
  await noteChanges(db, key.project, ids, at);
  const project = rows.length === 0 ? undefined : await projectRow(db, key).executeTakeFirst();
  if (project === undefined) return;
  const marks = await marksOf(db, key, rows);
  const changes: EntryChange[] = [];
  for (const { id, before, after, changed } of rows) {
    const mark = marks.get(id);
    const live = before === null || before.deleted_at !== null ? null : before;
    const hasTurned = live !== null && after !== null && live.status !== after.status;
    const next: Mark = { changed_at: hasTurned ? at.getTime() : (mark?.changed_at ?? null), left_at: null };
    if (after !== null && (hasTurned || (mark?.left_at ?? null) !== null)) await setMark(db, key, id, next);
    changes.push({ before: live && refreshEntry(live, mark), after: after && refreshEntry(after, next), changed });
  }
  await changeSums(db, key, cutOf(project), changes);
  await learn(db, project, changes, at.getTime());
}

async function marksOf(db: Trx, { project }: ProjectKey, rows: readonly RowChange[]): Promise<Map<string, Mark>> {
  const marks = new Map<string, Mark>();
  for (const batch of batchesOf(rows.map(({ id }) => id))) {
    const found = await db
      .selectFrom('refresh_entries')
      .selectAll()
      .where('project_id', '=', project)
      .where('id', 'in', batch)
      .execute();
    for (const mark of found) marks.set(mark.id, mark);
  }
  return marks;
}

async function setMark(db: Trx, { project }: ProjectKey, id: string, mark: Mark): Promise<void> {
  await db
    .insertInto('refresh_entries')
    .values({ project_id: project, id, ...mark })
    .onConflict((conflict) => conflict.columns(['project_id', 'id']).doUpdateSet(mark))
    .execute();
}

/** Notes since when entries are known to have left the open list. */
export async function noteLeft(
  db: Trx,
  key: ProjectKey,
  cut: Cut | null,
  left: readonly { id: string; leftAt: number; entry: RefreshEntry }[],
): Promise<void> {
  for (const { id, leftAt, entry } of left) {
    await setMark(db, key, id, { changed_at: entry.changedAt, left_at: leftAt });
  }
  const changes = left.map(({ entry, leftAt }) => ({ before: entry, after: { ...entry, leftAt }, changed: false }));
  await changeSums(db, key, cut, changes);
}

async function changeSums(db: Trx, key: ProjectKey, cut: Cut | null, changes: readonly EntryChange[]): Promise<void> {
  if (cut === null || changes.length === 0) return;
  const moments = changes.flatMap(({ before, after }) =>
    [before, after].flatMap((entry) => (entry === null || entry.createdAt === null ? [] : [entry.createdAt])),
  );
  const pages = await pagesOfProject(db, key)
    .where((row) =>
      row.or([
        row('list', '=', 'undated'),
        row.and([
          row('date_from', '<=', Math.max(beginning, ...moments)),
          row('date_to', '>', Math.min(end, ...moments)),
        ]),
      ]),
    )
    .execute();
  for (const page of pages) {
    const here = (entry: RefreshEntry | null): RefreshEntry | null =>
      entry === null || page.list === 'undated' || isWithin(page, entry.createdAt) ? entry : null;
    const sums = changes
      .map(({ before, after }) => [here(before), here(after)] as const)
      .filter(([before, after]) => before !== null || after !== null)
      .map(([before, after]) => changeOfSums(page.list, before, after, cut));
    const sum = (name: keyof PageSums) => sums.reduce((total, part) => total + part[name], 0);
    if (sums.length === 0) continue;
    await changePage(db, key.org, pageOf(page))
      .set((row) => ({
        entries: row('entries', '+', sum('entries')),
        rate: row('rate', '+', sum('rate')),
        open_rate: row('open_rate', '+', sum('openRate')),
        rate_seen: row('rate_seen', '+', sum('rateSeen')),
        rate_seen_squared: row('rate_seen_squared', '+', sum('rateSeenSquared')),
        left_entries: row('left_entries', '+', sum('left')),
        left_since: row('left_since', '+', sum('leftSince')),
      }))
      .execute();
  }
}

const isWithin = (page: PageRow, moment: number | null): boolean =>
  moment !== null && moment >= page.date_from && moment < page.date_to;

/** Takes lessons of entries that were read again, and the arrival of new ones. */
async function learn(db: Trx, row: ProjectRow, changes: readonly EntryChange[], at: number): Promise<void> {
  const key = { org: row.org_id, project: row.project_id };
  const lessons = new Map<number, Lesson>();
  for (const { before, after, changed } of changes) {
    const lesson = before && lessonOf(before, after?.seenAt ?? at, changed || after === null);
    if (lesson === null) continue;
    const sum = lessons.get(lesson.kind) ?? { kind: lesson.kind, changes: 0, hours: 0 };
    lessons.set(lesson.kind, { ...sum, changes: sum.changes + lesson.changes, hours: sum.hours + lesson.hours });
  }
  for (const lesson of lessons.values()) {
    await db
      .insertInto('refresh_rates')
      .values({ org_id: key.org, project_id: key.project, ...lesson })
      .onConflict((conflict) =>
        conflict.columns(['org_id', 'project_id', 'kind']).doUpdateSet({
          changes: sql`refresh_rates.changes + excluded.changes`,
          hours: sql`refresh_rates.hours + excluded.hours`,
        }),
      )
      .execute();
  }
  const created = changes.flatMap(({ before, after }) =>
    before === null && after !== null && after.createdAt !== null ? [Math.min(after.createdAt, after.seenAt)] : [],
  );
  if (created.length === 0) return;
  const arrivals = arrived({ at: row.arrivals_at, long: row.arrivals_long, short: row.arrivals_short }, created);
  await changeProject(db, key, {
    arrivals_at: arrivals.at,
    arrivals_long: arrivals.long,
    arrivals_short: arrivals.short,
  });
}
