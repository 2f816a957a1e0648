import { type Kysely, sql, type Transaction } from 'kysely';
import { isCovered, type PlannedSlice } from '../model/slice.ts';
import { changesCountedSince, type DatedWindow, entriesPerWindow, worthReading } from '../model/spare-slices.ts';
import { coverageOfSlice, type Pass } from './advance-pass.ts';
import type { PassSlice } from './feedback-store.ts';
import type { FeedbackDatabase } from './schema.ts';
import { currentSlice, listSlices, planSlices } from './slices.ts';
import { datesAreCoarse } from './sync-traits.ts';
import { tombstoneDated } from './tombstones.ts';
import { verifiedRanges } from './verified-ranges.ts';

type Db = Transaction<FeedbackDatabase>;

/** Windows planned together: looking for them takes the whole list of entries. */
const plannedAtOnce = 10;
/** A round ends after so many slices, or so long: its row then tells what it has found. */
const slicesPerRound = 1_000;
const roundMs = 86_400_000;

/**
 * What a pass of kind `verify` reads next, when it has nothing left to read: the windows most worth it, or nothing any
 * more, which completes the pass. What was read within `restMs` is left alone. Safe to repeat.
 */
export async function planSpare(db: Db, pass: Pass, { at, restMs }: { at: Date; restMs: number }): Promise<void> {
  if (pass.pass !== 'verify' || pass.outcome !== 'running' || pass.complete === 1) return;
  if ((await currentSlice(db, pass.pass_id)) !== null) return;
  const slices = await listSlices(db, pass.pass_id);
  const isLong = slices.length >= slicesPerRound || at.getTime() - Date.parse(pass.started_at) >= roundMs;
  const next = isLong ? [] : await spareSlices(db, pass, slices, at.toISOString(), restMs);
  if (next.length > 0) await planSlices(db, pass.pass_id, next);
  else await db.updateTable('sync_passes').set({ complete: 1 }).where('pass_id', '=', pass.pass_id).execute();
}

/**
 * After a slice of such a pass was read: a window in which something is missing is read a second time, and what is
 * missing then too is gone (DESIGN S4). `at` is when it is noted.
 */
export async function confirmMissing(db: Db, pass: Pass, slice: PassSlice, at: Date): Promise<void> {
  const covered = coverageOfSlice(slice);
  if (covered === null || slice.startedAt === null) return;
  const { org_id: org, project_id: project } = pass;
  if (slice.stage === 'again') {
    const earlier = await listSlices(db, pass.pass_id);
    const first = earlier.findLast(
      ({ stage, outcome, dateFrom, dateTo }) =>
        stage === 'read' && outcome === 'read' && dateFrom === slice.dateFrom && dateTo === slice.dateTo,
    );
    const before = first === undefined ? null : coverageOfSlice(first);
    if (before === null || !first?.startedAt) return;
    const missing = { passId: pass.pass_id, org, project, unseenSince: first.startedAt, at: at.toISOString() };
    return tombstoneDated(db, missing, [before, covered]);
  }
  const unseen = await db
    .selectFrom('feedback')
    .select('created_at_utc')
    .where('project_id', '=', project)
    .where('org_id', '=', org)
    .where('deleted_at', 'is', null)
    .where('created_at_utc', 'is not', null)
    .where('last_seen_at', '<', slice.startedAt)
    .$if(slice.dateFrom !== null, (query) => query.where('created_at_utc', '>=', slice.dateFrom ?? ''))
    .$if(slice.dateTo !== null, (query) => query.where('created_at_utc', '<', slice.dateTo ?? ''))
    .execute();
  if (!unseen.some(({ created_at_utc: moment }) => moment !== null && isCovered(covered, moment))) return;
  const { dateFrom, dateTo, source, statuses } = slice;
  const again = { dateFrom, dateTo, source, statuses, stage: 'again' as const, expectedPages: slice.pages };
  await planSlices(db, pass.pass_id, [again]);
}

/** None while a project was never swept: what is missing then is a sweep's business. */
async function spareSlices(
  db: Db,
  pass: Pass,
  slices: readonly PassSlice[],
  at: string,
  restMs: number,
): Promise<PlannedSlice[]> {
  const { org_id: org, project_id: project } = pass;
  const firstSweep = await firstSweepOf(db, org, project);
  if (firstSweep === null) return [];
  const { since, observedMs } = changesCountedSince(at, firstSweep);
  const windows = await datedWindows(db, org, project, since);
  const { ranges } = await verifiedRanges(db, org, project);
  const rested = new Date(Date.parse(at) - restMs).toISOString();
  const read = slices.filter(({ startedAt }) => startedAt !== null && startedAt > rested);
  const coarse = await datesAreCoarse(db, org, project);
  return worthReading({ windows, ranges, at, restMs, observedMs, read, coarse }, plannedAtOnce);
}

async function firstSweepOf(db: Kysely<FeedbackDatabase>, org: string, project: string): Promise<string | null> {
  const { first } = await db
    .selectFrom('sync_passes')
    .select((row) => row.fn.min('started_at').as('first'))
    .where('org_id', '=', org)
    .where('project_id', '=', project)
    .where('pass', '=', 'sweep')
    .where('outcome', '=', 'completed')
    .where('date_from', 'is', null)
    .where('date_to', 'is', null)
    .executeTakeFirstOrThrow();
  return first;
}

/** The dated entries held, cut into windows of a page, with the changes seen since. */
async function datedWindows(
  db: Kysely<FeedbackDatabase>,
  org: string,
  project: string,
  since: string,
): Promise<DatedWindow[]> {
  const numbered = db
    .selectFrom('feedback')
    .select([
      'created_at_utc',
      'last_seen_at',
      sql<number>`(row_number() over (order by created_at_utc, id) - 1) / ${sql.lit(entriesPerWindow)}`.as('cell'),
    ])
    .where('project_id', '=', project)
    .where('org_id', '=', org)
    .where('deleted_at', 'is', null)
    .where('created_at_utc', 'is not', null);
  const cells = await db
    .selectFrom(numbered.as('numbered'))
    .select((row) => [
      row.fn.min('created_at_utc').as('oldest'),
      row.fn.max('created_at_utc').as('newest'),
      row.fn.min('last_seen_at').as('leastSeen'),
      row.fn.countAll().as('entries'),
    ])
    .groupBy('cell')
    .orderBy('cell')
    .execute();
  const changed = await db
    .selectFrom('feedback_changes')
    .innerJoin('feedback', (join) =>
      join
        .onRef('feedback.project_id', '=', 'feedback_changes.project_id')
        .onRef('feedback.id', '=', 'feedback_changes.id'),
    )
    .select((row) => ['feedback.created_at_utc as moment', row.fn.countAll().as('changes')])
    .where('feedback_changes.project_id', '=', project)
    .where('feedback.org_id', '=', org)
    .where('feedback_changes.seen_at', '>=', since)
    .where('feedback.created_at_utc', 'is not', null)
    .groupBy('feedback.created_at_utc')
    .orderBy('feedback.created_at_utc')
    .execute();
  const windows = cells.map(({ oldest, newest, leastSeen, entries }) => ({
    oldest: oldest ?? '',
    newest: newest ?? '',
    leastSeen,
    entries: Number(entries),
    changes: 0,
  }));
  let at = 0;
  for (const { moment, changes } of changed) {
    while (at < windows.length - 1 && (windows[at]?.newest ?? '') < (moment ?? '')) at += 1;
    const window = windows[at];
    if (window !== undefined) window.changes += Number(changes);
  }
  return windows;
}
