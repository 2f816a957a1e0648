import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import type { ProjectKey } from '../rules/feedback-entry.ts';
import type { PassSlice, PlannedSlice } from '../rules/slice.ts';
import { changesCountedSince, type DatedWindow, entriesPerWindow, worthReading } from '../rules/spare-slices.ts';
import { batchesOf, liveEntries } from '../store/queries.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { verifiedRanges } from './pass-facts.ts';
import type { PassRow } from './pass-store.ts';
import { completePass, datesAreCoarse, getPass } from './passes.ts';
import { appendPlanned, currentSlice, listSlices } from './slices.ts';

type Db = Kysely<FeedbackDatabase>;

/** Windows planned at once: choosing them takes the whole list of entries. */
const plannedAtOnce = 25;
/** Entries a statement: whole windows, and few enough for the parameters of a statement that names them. */
const entriesPerStatement = 50 * entriesPerWindow;
/** A round ends after this many slices, or this long: its row then tells what it has found. */
const slicesPerRound = 1_000;
const roundMs = 86_400_000;

/**
 * Chooses what a pass of kind `verify` reads next when it has nothing left to read: the windows most worth it. Windows
 * read within `restMs` are not read again. Looks through all stored entries in batches, outside any transaction, so
 * that the thread is free in between.
 */
export async function chooseSpare(
  db: Db,
  passId: string,
  { at, restMs }: { at: Date; restMs: number },
): Promise<PlannedSlice[]> {
  const pass = await getPass(db, passId);
  if (pass === null || !(await isAwaiting(db, pass))) return [];
  const slices = await listSlices(db, passId);
  const isLong = slices.length >= slicesPerRound || at.getTime() - Date.parse(pass.startedAt) >= roundMs;
  return isLong ? [] : await spareSlices(db, pass, slices, at.toISOString(), restMs);
}

/** Plans the chosen windows; completes the pass if there are none. Safe to repeat. */
export async function planSpare(
  db: Transaction<FeedbackDatabase>,
  pass: PassRow,
  chosen: readonly PlannedSlice[],
): Promise<void> {
  if (!(await isAwaiting(db, pass))) return;
  if (chosen.length > 0) await appendPlanned(db, pass.passId, chosen);
  else await completePass(db, pass.passId);
}

async function isAwaiting(db: Db, { passId, pass, outcome, position }: PassRow): Promise<boolean> {
  if (pass !== 'verify' || outcome !== 'running' || position.complete) return false;
  return (await currentSlice(db, passId)) === null;
}

/** None while a project was never swept: only a sweep can find what is missing then. */
async function spareSlices(
  db: Db,
  { org, project }: PassRow,
  slices: readonly PassSlice[],
  at: string,
  restMs: number,
): Promise<PlannedSlice[]> {
  const firstSweep = await firstSweepOf(db, org, project);
  if (firstSweep === null) return [];
  const { since, observedMs } = changesCountedSince(at, firstSweep);
  const windows = await datedWindows(db, { org, project }, since);
  const { ranges } = await verifiedRanges(db, org, project);
  const rested = new Date(Date.parse(at) - restMs).toISOString();
  const read = slices.filter(({ startedAt }) => startedAt !== null && startedAt > rested);
  const coarse = await datesAreCoarse(db, org, project);
  return worthReading({ windows, ranges, at, restMs, observedMs, read, coarse }, plannedAtOnce);
}

async function firstSweepOf(db: Db, org: string, project: string): Promise<string | null> {
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

/** The dated entries, cut into windows of a page, with the changes seen since. */
async function datedWindows(db: Db, key: ProjectKey, since: string): Promise<DatedWindow[]> {
  const windows: DatedWindow[] = [];
  for (let after: Dated | undefined, isLast = false; !isLast; ) {
    const batch = await nextEntries(db, key, after);
    const changes = await changesOf(db, key.project, batch, since);
    for (let start = 0; start < batch.length; start += entriesPerWindow) {
      windows.push(windowOf(batch.slice(start, start + entriesPerWindow), changes));
    }
    after = batch.at(-1);
    isLast = batch.length < entriesPerStatement;
    await letOthersRun();
  }
  return windows;
}

interface Dated {
  id: string;
  moment: string;
  seen: string;
}

async function nextEntries(db: Db, key: ProjectKey, after: Dated | undefined): Promise<Dated[]> {
  const rows = await liveEntries(db, key)
    .select(['id', 'created_at_utc', 'last_seen_at'])
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
  db: Db,
  project: string,
  entries: readonly Dated[],
  since: string,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const ids of batchesOf(entries.map(({ id }) => id))) {
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
