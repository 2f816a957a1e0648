import { sql } from 'kysely';
import { declinedRules, type EndDetail, whyEnded } from '../../exports/rules/site-export.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { clipped } from '../../rules/text.ts';
import type { ProjectKey } from '../rules/feedback-entry.ts';
import { storedText } from '../rules/feedback-entry.ts';
import { type PassKind, passKinds } from '../rules/sync.ts';
import { bringsVersion, isWholeExport, matching, wantedKeys } from './queries.ts';
import type { ExportRunRow, LatestRecords, ProjectRecord, RunFilter, SiteKey, SiteRecord } from './run-records.ts';
import { columnsOf, type Db, fieldsOf, type Trx } from './tables.ts';

/** Inserts or replaces the row of a run (X4). */
export async function recordExportRun(db: Trx, { workflowId, runId, org, ...run }: ExportRunRow): Promise<void> {
  const values = { ...columnsOf(run), org_id: org, detail: storedText(run.detail) };
  await db
    .insertInto('export_runs')
    .values({ workflow_id: workflowId, run_id: runId, ...values })
    .onConflict((conflict) => conflict.columns(['workflow_id', 'run_id']).doUpdateSet(values))
    .execute();
}

/** Newest first; all of them without `limit`. */
export async function listExportRuns(
  db: Db,
  { org, domain, outcome, since, endedSince, limit }: RunFilter,
): Promise<ExportRunRow[]> {
  const rows = await db
    .selectFrom('export_runs')
    .selectAll()
    .where(matching({ org_id: org, domain, outcome }))
    .$if(since !== undefined, (query) => query.where('started_at', '>=', since ?? ''))
    .$if(endedSince !== undefined, (query) => query.where('finished_at', '>=', endedSince ?? ''))
    .orderBy(endedSince === undefined ? 'started_at' : 'finished_at', 'desc')
    .orderBy('run_id', 'desc')
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0))
    .execute();
  return rows.map((row) => {
    const { orgId: org, jobMs, ...run } = fieldsOf(row);
    return { ...run, org, jobMs: jobMs === null ? null : Number(jobMs) };
  });
}

/** Durations in milliseconds of the latest jobs whose exports recorded one, latest first. */
export async function jobDurations(db: Db, org: string, domain: string, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('export_runs')
    .select('job_ms')
    .where('org_id', '=', org)
    .where('domain', '=', domain)
    .where('job_ms', 'is not', null)
    .orderBy('started_at', 'desc')
    .limit(limit)
    .execute();
  return rows.map(({ job_ms }) => Number(job_ms));
}

/** A version that a person rejected or that waited too long has one of these rules first; a refused archive has another. */
const notApproved = declinedRules.map((rule) => `{"reasons":[{"rule":"${rule}"%`);

/** The latest runs of these sites and passes of these projects, in one statement for each kind. */
export async function latestRecords(
  db: Db,
  { sites, projects }: { sites: readonly SiteKey[]; projects: readonly ProjectKey[] },
): Promise<LatestRecords> {
  const passes = projects.flatMap(({ org, project }) => passKinds.map((pass) => [org, project, pass]));
  const latest = projects.length === 0 ? [] : await latestPasses(db, passes);
  const verified = projects.length === 0 ? [] : await verifiedMoments(db);
  const read = projects.length === 0 ? [] : await readByRefresh(db);
  const unread = projects.length === 0 ? [] : await unreadByRefresh(db);
  const domains = sites.map(({ org, domain }) => [org, domain]);
  return {
    sites: sites.length === 0 ? [] : await latestRuns(db, domains),
    projects: projectRecords(projects, { latest, verified, read, unread }),
  };
}

/** For each site, the newest run, the last that brought a version, and the first that failed since one that did not. */
async function latestRuns(db: Db, keys: readonly string[][]): Promise<SiteRecord[]> {
  const [declined, expired] = notApproved;
  const bad = sql`(r.outcome in ('failed', 'rollout-failed')
    or (r.outcome = 'rejected' and r.detail not like ${declined} and r.detail not like ${expired}))`;
  const same = sql`r.org_id = w.org_id and r.domain = w.domain`;
  const { rows } = await sql<{
    org: string;
    domain: string;
    outcome: SiteRecord['lastOutcome'];
    finished_at: string;
    failing_since: string | null;
    exported_at: string;
    detail: string | null;
  }>`
    with wanted (org_id, domain) as (${wantedKeys(db, keys, 2)}),
    newest as (select w.org_id, w.domain,
      (select max(r.started_at) from export_runs r where ${same}) as started_at,
      (select r.started_at from export_runs r where ${same} and r.outcome <> 'cancelled' and not ${bad} and ${isWholeExport}
        order by r.started_at desc limit 1) as good_at
      from wanted w)
    select w.org_id as org, w.domain as domain, n.outcome as outcome, n.finished_at as finished_at,
      case when n.outcome not in ('published', 'unchanged', 'rolled-back') then n.detail end as detail,
      (select r.finished_at from export_runs r where ${same} and r.started_at > coalesce(w.good_at, '') and ${bad}
        order by r.started_at limit 1) as failing_since,
      coalesce((select r.finished_at from export_runs r where ${same} and ${bringsVersion}
        order by r.started_at desc limit 1),
        (select min(r.finished_at) from export_runs r where ${same})) as exported_at
    from newest w
    join export_runs n on n.org_id = w.org_id and n.domain = w.domain and n.started_at = w.started_at
    order by n.run_id`.execute(db);
  const records = rows.map(({ org, domain, outcome, finished_at, failing_since, exported_at, detail }) => ({
    org,
    domain,
    lastOutcome: outcome,
    lastAt: finished_at,
    exportedAt: exported_at,
    lastReason: detail === null ? null : clipped(whyEnded(JSON.parse(detail) as EndDetail), longestReason) || null,
    failingSince: failing_since,
  }));
  // Of two that began in the same millisecond the last one counts.
  return [...new Map(records.map((record) => [JSON.stringify([record.org, record.domain]), record])).values()];
}

interface LatestPass {
  org: string;
  project: string;
  pass: PassKind;
  outcome: ProjectRecord['lastOutcome'];
  finished_at: string;
  good_at: string | null;
  /** Of the last that read the newest entries. */
  read_at: string | null;
  failing_since: string | null;
  error: string | null;
}

/** For each kind of pass of each project, the newest that has ended, and since when that kind fails. */
async function latestPasses(db: Db, keys: readonly string[][]): Promise<LatestPass[]> {
  const same = sql`r.org_id = w.org_id and r.project_id = w.project_id and r.pass = w.pass`;
  const { rows } = await sql<LatestPass>`
    with wanted (org_id, project_id, pass) as (${wantedKeys(db, keys, 3)}),
    newest as (select w.org_id, w.project_id, w.pass,
      (select r.started_at from sync_passes r where ${same} and r.finished_at is not null
        order by r.started_at desc limit 1) as started_at,
      (select r.started_at from sync_passes r where ${same} and r.outcome = 'completed'
        and (r.pass <> 'sweep' or (r.date_from is null and r.date_to is null))
        order by r.started_at desc limit 1) as good_at,
      (select r.started_at from sync_passes r where ${same} and r.outcome = 'completed' and r.date_to is null
        order by r.started_at desc limit 1) as read_at
      from wanted w)
    select w.org_id as org, w.project_id as project, w.pass as pass, n.outcome as outcome,
      n.finished_at as finished_at, n.error as error, w.good_at as good_at, w.read_at as read_at,
      (select r.finished_at from sync_passes r
        where ${same} and r.started_at > coalesce(w.good_at, '') and r.outcome = 'failed'
        order by r.started_at limit 1) as failing_since
    from newest w
    join sync_passes n on n.org_id = w.org_id and n.project_id = w.project_id and n.pass = w.pass
      and n.started_at = w.started_at
    where n.finished_at is not null
    order by n.finished_at, n.pass_id`.execute(db);
  return rows;
}

/** The moment up to which all entries of each project are complete; null while some are not. */
async function verifiedMoments(db: Db): Promise<(ProjectKey & { verifiedUpTo: string | null })[]> {
  const rows = await db
    .selectFrom('verified_ranges')
    .select(({ fn }) => [
      'org_id as org',
      'project_id as project',
      fn.countAll<number | string>().as('places'),
      fn.count<number | string>('verified_up_to').as('verified'),
      fn.min('verified_up_to').as('least'),
    ])
    .groupBy(['org_id', 'project_id'])
    .execute();
  return rows.map(({ org, project, places, verified, least }) => ({
    org,
    project,
    verifiedUpTo: Number(places) === Number(verified) ? least : null,
  }));
}

interface ReadByRefresh extends ProjectKey {
  newestReadAt: string | null;
  /** Id of the pass. */
  firstReading: string | null;
}

/** When `refresh` last read the newest entries of each project, and whether it reads it for the first time. */
async function readByRefresh(db: Db): Promise<ReadByRefresh[]> {
  return await db
    .selectFrom('refresh_projects')
    .select(['org_id as org', 'project_id as project', 'head_read_at as newestReadAt', 'first_pass as firstReading'])
    .execute();
}

/** What `refresh` cannot read leaves no pass, but a notice that holds. */
async function unreadByRefresh(db: Db): Promise<(ProjectKey & { since: string; reason: string | null })[]> {
  const rows = await db
    .selectFrom('notices')
    .select(['org_id as org', 'subject', 'since', 'reason'])
    .where('type', '=', 'pass.failed')
    .where('open', '=', 1)
    .where('subject', 'like', '%/refresh')
    .execute();
  return rows.map(({ subject, ...row }) => ({ ...row, project: subject.slice(0, -'/refresh'.length) }));
}

interface FoundOfProjects {
  latest: readonly LatestPass[];
  verified: readonly (ProjectKey & { verifiedUpTo: string | null })[];
  read: readonly ReadByRefresh[];
  unread: Awaited<ReturnType<typeof unreadByRefresh>>;
}

function projectRecords(
  projects: readonly ProjectKey[],
  { latest, verified, read, unread }: FoundOfProjects,
): ProjectRecord[] {
  const passesOf = new Map<string, LatestPass[]>(projects.map((key) => [keyOf(key), []]));
  for (const pass of latest) passesOf.get(keyOf(pass))?.push(pass);
  const verifiedOf = new Map(verified.map((found) => [keyOf(found), found.verifiedUpTo]));
  const readOf = new Map(read.map((found) => [keyOf(found), found]));
  const unreadOf = new Map(unread.map((found) => [keyOf(found), found]));
  return projects.map((key) => {
    const passes = passesOf.get(keyOf(key)) ?? [];
    const newest = passes.at(-1);
    const sweptAt = passes.find(({ pass }) => pass === 'sweep')?.good_at ?? '';
    // A sweep without dates reads everything: what failed before it has been made up for.
    const failing = passes.flatMap(({ failing_since: since }) => (since !== null && since > sweptAt ? [since] : []));
    const readByPass = passes.flatMap(({ pass, read_at: at }) => (pass === 'review' || at === null ? [] : [at]));
    const { since, reason = '' } = unreadOf.get(keyOf(key)) ?? {};
    if (since !== undefined) failing.push(since);
    const { newestReadAt = null, firstReading = null } = readOf.get(keyOf(key)) ?? {};
    return {
      org: key.org,
      project: key.project,
      lastPass: newest?.pass ?? null,
      lastOutcome: newest?.outcome ?? null,
      lastAt: newest?.finished_at ?? null,
      lastReason: clipped(withoutFailureType(newest?.error ?? reason ?? ''), longestReason) || null,
      newestReadAt: [...(newestReadAt === null ? [] : [newestReadAt]), ...readByPass].sort().at(-1) ?? null,
      firstReading: firstReading !== null,
      verifiedUpTo: verifiedOf.get(keyOf(key)) ?? null,
      failingSince: failing.sort()[0] ?? null,
    };
  });
}

/** In characters: a list of a thousand sites stays short. */
const longestReason = 300;

const keyOf = ({ org, project }: ProjectKey): string => JSON.stringify([org, project]);
