import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { isCovered, type PlannedSlice } from '../../model/sync/slice.ts';
import {
  changesCountedSince,
  type DatedWindow,
  entriesPerWindow,
  worthReading,
} from '../../model/sync/spare-slices.ts';
import type { FeedbackDatabase } from '../database/tables.ts';
import type { PassSlice } from '../feedback-store.ts';
import { coverageOfSlice, type Pass } from './advance-pass.ts';
import { verifiedRanges } from './noted-ranges.ts';
import { currentSlice, listSlices, planSlices } from './slices.ts';
import { datesAreCoarse } from './sync-traits.ts';
import { tombstoneDated } from './tombstones.ts';

type Db = Transaction<FeedbackDatabase>;

/** Windows planned together: looking for them takes the whole list of entries. */
const plannedAtOnce = 25;
/** Entries a statement: whole windows, and few enough for the parameters of a statement that names them. */
const entriesPerStatement = 50 * entriesPerWindow;
const idsPerStatement = 500;
/** A round ends after so many slices, or so long: its row then tells what it has found. */
const slicesPerRound = 1_000;
const roundMs = 86_400_000;

/**
 * What a pass of kind `verify` reads next, when it has nothing left to read: the windows most worth it. What was read
 * within `restMs` is left alone. Looks through all entries held, apart from any transaction and part by part, so that the
 * thread is free in between.
 */
export async function chooseSpare(
  db: Kysely<FeedbackDatabase>,
  passId: string,
  { at, restMs }: { at: Date; restMs: number },
): Promise<PlannedSlice[]> {
  const pass = await db.selectFrom('sync_passes').selectAll().where('pass_id', '=', passId).executeTakeFirst();
  if (pass === undefined || !(await isAwaiting(db, pass))) return [];
  const slices = await listSlices(db, passId);
  const isLong = slices.length >= slicesPerRound || at.getTime() - Date.parse(pass.started_at) >= roundMs;
  return isLong ? [] : await spareSlices(db, pass, slices, at.toISOString(), restMs);
}

/** Plans what was chosen; nothing completes the pass. Safe to repeat. */
export async function planSpare(db: Db, pass: Pass, chosen: readonly PlannedSlice[]): Promise<void> {
  if (!(await isAwaiting(db, pass))) return;
  if (chosen.length > 0) await planSlices(db, pass.pass_id, chosen);
  else await db.updateTable('sync_passes').set({ complete: 1 }).where('pass_id', '=', pass.pass_id).execute();
}

async function isAwaiting(db: Kysely<FeedbackDatabase>, pass: Pass): Promise<boolean> {
  if (pass.pass !== 'verify' || pass.outcome !== 'running' || pass.complete === 1) return false;
  return (await currentSlice(db, pass.pass_id)) === null;
}

/**
 * After a slice of such a pass was read: a window in which something is missing is read a second time, and what is
 * missing then too is gone (S4). `at` is when it is noted.
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
  db: Kysely<FeedbackDatabase>,
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
  const windows: DatedWindow[] = [];
  for (let after: Dated | undefined, isLast = false; !isLast; ) {
    const part = await nextEntries(db, org, project, after);
    const changes = await changesOf(db, project, part, since);
    for (let start = 0; start < part.length; start += entriesPerWindow) {
      windows.push(windowOf(part.slice(start, start + entriesPerWindow), changes));
    }
    after = part.at(-1);
    isLast = part.length < entriesPerStatement;
    await letOthersRun();
  }
  return windows;
}

interface Dated {
  id: string;
  moment: string;
  seen: string;
}

async function nextEntries(
  db: Kysely<FeedbackDatabase>,
  org: string,
  project: string,
  after: Dated | undefined,
): Promise<Dated[]> {
  const rows = await db
    .selectFrom('feedback')
    .select(['id', 'created_at_utc', 'last_seen_at'])
    .where('project_id', '=', project)
    .where('org_id', '=', org)
    .where('deleted_at', 'is', null)
    .where('created_at_utc', 'is not', null)
    .$if(after !== undefined, (query) =>
      query.where((row) =>
        row(row.refTuple('created_at_utc', 'id'), '>', row.tuple(after?.moment ?? '', after?.id ?? '')),
      ),
    )
    .orderBy('created_at_utc')
    .orderBy('id')
    .limit(entriesPerStatement)
    .execute();
  return rows.map(({ id, created_at_utc, last_seen_at }) => ({ id, moment: created_at_utc ?? '', seen: last_seen_at }));
}

/** How often each of these entries has changed; those that have not are left out. */
async function changesOf(
  db: Kysely<FeedbackDatabase>,
  project: string,
  entries: readonly Dated[],
  since: string,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let start = 0; start < entries.length; start += idsPerStatement) {
    const ids = entries.slice(start, start + idsPerStatement).map(({ id }) => id);
    const rows = await db
      .selectFrom('feedback_changes')
      .select((row) => ['id', row.fn.countAll().as('changes')])
      .where('project_id', '=', project)
      .where('id', 'in', ids)
      .where('seen_at', '>=', since)
      .groupBy('id')
      .execute();
    for (const { id, changes } of rows) found.set(id, Number(changes));
  }
  return found;
}

function windowOf(entries: readonly Dated[], changes: ReadonlyMap<string, number>): DatedWindow {
  return {
    oldest: entries[0]?.moment ?? '',
    newest: entries.at(-1)?.moment ?? '',
    entries: entries.length,
    leastSeen: entries.reduce((least, { seen }) => (seen < least ? seen : least), entries[0]?.seen ?? ''),
    changes: entries.reduce((sum, { id }) => sum + (changes.get(id) ?? 0), 0),
  };
}
