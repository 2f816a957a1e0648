import { type Kysely, sql } from 'kysely';
import { type ObservedRun, observedDays, type ProjectActivity } from '../../budget/rules/observed-load.ts';
import { openStatuses } from '../rules/feedback-values.ts';
import type { PassKind } from '../rules/pass-kind.ts';
import { countRows, liveEntries, storedEntries } from '../store/stored-entries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import type { LatestCost } from './figure-store.ts';

type Db = Kysely<FeedbackDatabase>;

const observedRuns = 20;

/** Observed figures and times of a project, for `budget plan` (budget-plan.md). */
export async function projectActivity(db: Db, org: string, project: string): Promise<ProjectActivity> {
  const live = liveEntries(db, { org, project });
  const runs = {
    incremental: await runsOf(db, org, project, 'incremental'),
    review: await runsOf(db, org, project, 'review'),
    sweep: await runsOf(db, org, project, 'sweep'),
  };
  const readUpTo = await lastRead(db, org, project);
  const { oldest } = await storedEntries(db, { org, project })
    .select((row) => row.fn.min('created_at_utc').as('oldest'))
    .executeTakeFirstOrThrow();
  return {
    entries: await countRows(live),
    open: await countRows(live.where('status', 'in', openStatuses)),
    readUpTo,
    oldest,
    recent: readUpTo === null ? 0 : await countBefore(db, org, project, readUpTo),
    runs,
  };
}

/** What the latest completed pass of each kind has cost, for each project of an organization. */
export async function latestCosts(db: Db, org: string): Promise<LatestCost[]> {
  const runs = db
    .selectFrom('sync_passes')
    .select([
      'project_id',
      'pass',
      'requests',
      sql<number | string>`row_number() over (partition by project_id, pass order by started_at desc, pass_id)`.as(
        'place',
      ),
    ])
    .where('org_id', '=', org)
    .where('outcome', '=', 'completed')
    .where('date_to', 'is', null)
    .where((row) => row.or([row('pass', '!=', 'sweep'), row('date_from', 'is', null)]))
    .where((row) => row.or([row('pass', '!=', 'incremental'), row('date_from', 'is not', null)]));
  const rows = await db.selectFrom(runs.as('runs')).selectAll().where('place', '=', 1).execute();
  return rows.map(({ project_id, pass, requests }) => ({ project: project_id, pass, requests: Number(requests) }));
}

/** Entries created in the days before a moment, those that are gone since included. */
async function countBefore(db: Db, org: string, project: string, until: string): Promise<number> {
  const since = new Date(Date.parse(until) - observedDays * 86_400_000).toISOString();
  const stored = storedEntries(db, { org, project });
  return await countRows(stored.where('created_at_utc', '>', since).where('created_at_utc', '<=', until));
}

/** Entries created later than this may not be stored yet. Other kinds of pass read only some entries. */
async function lastRead(db: Db, org: string, project: string): Promise<string | null> {
  const { last } = await completed(db, org, project)
    .where('pass', 'in', ['incremental', 'sweep'])
    .select((row) => row.fn.max('started_at').as('last'))
    .executeTakeFirstOrThrow();
  return last;
}

/** Newest first. An incremental pass without a beginning read everything: there was no watermark yet. */
async function runsOf(db: Db, org: string, project: string, pass: PassKind): Promise<ObservedRun[]> {
  const rows = await completed(db, org, project)
    .where('pass', '=', pass)
    .$if(pass === 'incremental', (query) => query.where('date_from', 'is not', null))
    .$if(pass === 'sweep', (query) => query.where('date_from', 'is', null))
    .select(['started_at', 'requests'])
    .orderBy('started_at', 'desc')
    .orderBy('pass_id', 'desc')
    .limit(observedRuns)
    .execute();
  return rows.map(({ started_at, requests }) => ({ startedAt: started_at, requests: Number(requests) }));
}

/** Passes that completed, without an upper bound given by a person. */
function completed(db: Db, org: string, project: string) {
  return db
    .selectFrom('sync_passes')
    .where('org_id', '=', org)
    .where('project_id', '=', project)
    .where('outcome', '=', 'completed')
    .where('date_to', 'is', null);
}
