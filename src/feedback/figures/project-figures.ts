import { expressionBuilder, type RawBuilder, type Selectable, sql } from 'kysely';
import { holdsPersonal, isWhole } from '../privacy/apply-privacy.ts';
import { rangesOf, type VerifiedRow } from '../reading/pass-facts.ts';
import { passRow } from '../reading/passes.ts';
import type { ProjectKey } from '../rules/feedback-entry.ts';
import type { FirstReading } from '../rules/refresh/expected.ts';
import { leastVerified } from '../rules/sync.ts';
import { countRows, liveEntries, storedEntries, wantedKeys } from '../store/queries.ts';
import type { Db, FeedbackDatabase } from '../store/tables.ts';
import { countVotes, entriesBy, votedNo, votedYes, worstPages } from './read-report-figures.ts';

const shownPaths = 10;

/** A project's stored entries in numbers, without what people wrote. Tombstones count only as tombstones. */
export type FeedbackStats = Awaited<ReturnType<typeof feedbackStats>>;

/** Counts the entries of a project (contracts.md `feedback stats`). */
export async function feedbackStats(db: Db, org: string, project: string) {
  const live = liveEntries(db, { org, project });
  const totals = await storedEntries(db, { org, project })
    .select((row) => [row.fn.countAll().as('stored'), row.fn.count('deleted_at').as('tombstones')])
    .executeTakeFirstOrThrow();
  const months = await live
    .select((row) => [sql<string | null>`substr(created_at_utc, 1, 7)`.as('name'), row.fn.countAll().as('entries')])
    .groupBy('name')
    .orderBy('name')
    .execute();
  const helpfulMonths = await live
    .where('source', '=', 'contextual')
    .where('created_at_utc', 'is not', null)
    .where('helpful', 'is not', null)
    .select([sql<string>`substr(created_at_utc, 1, 7)`.as('name'), votedYes.as('yes'), votedNo.as('no')])
    .groupBy('name')
    .orderBy('name')
    .execute();
  const paths = await worstPages(db, live, shownPaths);
  return {
    entries: Number(totals.stored) - Number(totals.tombstones),
    tombstones: Number(totals.tombstones),
    rejects: await countRows(db.selectFrom('feedback_rejects').where('project_id', '=', project)),
    /** Most entries first. */
    sources: await entriesBy(live, 'source'),
    statuses: await entriesBy(live, 'status'),
    /** Of contextual entries: whether the page helped. */
    helpful: await countVotes(live),
    /** The same by month of `created_at_utc`, oldest first; months without votes are absent. */
    helpfulMonths: helpfulMonths.map((month) => ({ name: month.name, yes: Number(month.yes), no: Number(month.no) })),
    /** Months of `created_at_utc` such as `2026-11`, oldest first; those without entries are absent. */
    months: months.flatMap(({ name, entries }) => (name === null ? [] : [{ name, entries: Number(entries) }])),
    /** Entries without a date that can be understood. */
    undated: Number(months.find(({ name }) => name === null)?.entries ?? 0),
    /** The paths of contextual entries that most often did not help, at most ten. */
    paths: paths.map(({ path, yes, no }) => ({ path, unhelpful: no, helpful: yes })),
  };
}

/** A project's stored entries in numbers, and how complete they are. */
export type StoredProject = Awaited<ReturnType<typeof storedProjects>>[number];

/** Counts of the rows stored for these projects, in four statements for any number of projects. */
export async function storedProjects(db: Db, projects: readonly ProjectKey[], shownPasses: number, now = new Date()) {
  const keys = projects.map(({ org, project }) => [org, project]);
  const counts = byProject(await countsOf(db, keys, now));
  const passes = byProject(await newestPasses(db, keys, shownPasses));
  const verified = byProject(await verifiedRows(db, keys));
  const first = byProject(await firstReadings(db, keys));
  return projects.map(({ org, project }) => {
    const of = <Row>(rows: ReadonlyMap<string, Row[]>): Row[] => rows.get(nameOf(org, project)) ?? [];
    const [row] = of(counts);
    const ranges = rangesOf(of(verified));
    return {
      org,
      project,
      /** Entries that the service still has, as far as docferry knows. */
      entries: Number(row?.entries ?? 0),
      rejects: Number(row?.rejects ?? 0),
      tombstones: Number(row?.tombstones ?? 0),
      watermark: row?.watermark ?? null,
      everSwept: Number(row?.sweeps ?? 0) > 0,
      /** From when the age of the oldest personal data of an entry counts (privacy.md); null where no entry has any. */
      personalSince: oldest([row?.dated_since, row?.undated_since, row?.future_since]),
      /** Whether the whole text of a reject is stored, which may hold personal data of any age. */
      hasWholeRejects: Boolean(row?.whole_rejects),
      /** For each stretch of dates, and for entries without a date, the moment up to which they match the service. */
      verified: ranges,
      /** The moment up to which all do; null while some do not. */
      verifiedUpTo: leastVerified([...ranges.ranges, { verifiedUpTo: ranges.undated }]),
      /** Its first reading by `refresh`, while that goes on. */
      firstReading: of(first).map(({ pages, order, reached }): FirstReading => ({ pages, order, reached }))[0] ?? null,
      /** Newest first. The query may find more of several that began in the same millisecond. */
      passes: of(passes).map(passRow).slice(0, shownPasses),
    };
  });
}

interface KeyRow {
  org_id: string;
  project_id: string;
}

interface CountsRow extends KeyRow {
  entries: number | string;
  tombstones: number | string;
  rejects: number | string;
  watermark: string | null;
  sweeps: number | string;
  dated_since: string | null;
  undated_since: string | null;
  future_since: string | null;
  whole_rejects: boolean | number;
}

async function countsOf(db: Db, keys: readonly string[][], now: Date): Promise<CountsRow[]> {
  const entries = sql`feedback f where f.project_id = w.project_id and f.org_id = w.org_id`;
  const completed = sql`sync_passes r where r.org_id = w.org_id and r.project_id = w.project_id
    and r.outcome = 'completed'`;
  const personal = holdsPersonal(expressionBuilder<FeedbackDatabase, 'feedback'>());
  const rejects = sql`feedback_rejects j where j.project_id = w.project_id`;
  const whole = isWhole(expressionBuilder<FeedbackDatabase, 'feedback_rejects'>());
  // Each has a range of the index to itself.
  const since = (column: 'created_at_utc' | 'first_seen_at', date: RawBuilder<unknown>) =>
    sql`select min(${sql.ref(column)}) from feedback
      where project_id = w.project_id and ${personal} and created_at_utc ${date}`;
  const { rows } = await sql<CountsRow>`
    with wanted (org_id, project_id) as (${wantedKeys(db, keys, 2)})
    select w.org_id, w.project_id,
      (select count(*) from ${entries} and f.deleted_at is null) as entries,
      (select count(*) from ${entries} and f.deleted_at is not null) as tombstones,
      (select count(*) from ${rejects}) as rejects,
      (select max(r.watermark) from ${completed}) as watermark,
      (select count(*) from ${completed} and r.pass = 'sweep' and r.date_from is null and r.date_to is null) as sweeps,
      (${since('created_at_utc', sql`<= ${now.toISOString()}`)}) as dated_since,
      (${since('first_seen_at', sql`is null`)}) as undated_since,
      (${since('first_seen_at', sql`> ${now.toISOString()}`)}) as future_since,
      exists (select 1 from ${rejects} and ${whole}) as whole_rejects
    from wanted w`.execute(db);
  return rows;
}

function oldest(moments: readonly (string | null | undefined)[]): string | null {
  return moments.filter((moment) => moment != null).sort()[0] ?? null;
}

async function newestPasses(
  db: Db,
  keys: readonly string[][],
  shown: number,
): Promise<Selectable<FeedbackDatabase['sync_passes']>[]> {
  if (shown === 0) return [];
  const { rows } = await sql<Selectable<FeedbackDatabase['sync_passes']>>`
    with wanted (org_id, project_id) as (${wantedKeys(db, keys, 2)}),
    oldest as (select w.org_id, w.project_id,
      (select r.started_at from sync_passes r where r.org_id = w.org_id and r.project_id = w.project_id
        order by r.started_at desc limit 1 offset ${sql.lit(shown - 1)}) as started_at
      from wanted w)
    select p.* from oldest o
    join sync_passes p on p.org_id = o.org_id and p.project_id = o.project_id
      and p.started_at >= coalesce(o.started_at, '')
    order by p.started_at desc, p.pass_id desc`.execute(db);
  return rows;
}

async function firstReadings(db: Db, keys: readonly string[][]): Promise<(FirstReading & KeyRow)[]> {
  const { rows } = await sql<FirstReading & KeyRow>`
    with wanted (org_id, project_id) as (${wantedKeys(db, keys, 2)})
    select w.org_id, w.project_id, r.pages, s.entry_order as "order", coalesce(s.reached, s.joins_at) as reached
    from wanted w join refresh_projects p on p.org_id = w.org_id and p.project_id = w.project_id
    join sync_passes r on r.pass_id = p.first_pass
    left join sync_slices s on s.pass_id = r.pass_id and s.outcome in ('planned', 'reading', 'checking')
    order by s.slice`.execute(db);
  return rows;
}

async function verifiedRows(db: Db, keys: readonly string[][]): Promise<VerifiedRow[]> {
  const { rows } = await sql<VerifiedRow>`
    with wanted (org_id, project_id) as (${wantedKeys(db, keys, 2)})
    select v.* from wanted w join verified_ranges v on v.org_id = w.org_id and v.project_id = w.project_id
    order by v.place`.execute(db);
  return rows;
}

function byProject<Row extends KeyRow>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const name = nameOf(row.org_id, row.project_id);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return groups;
}

const nameOf = (org: string, project: string): string => JSON.stringify([org, project]);
