import type { Selectable, Transaction } from 'kysely';
import { closedStatuses, knownStatuses } from '../../model/sync/feedback-values.ts';
import { expectedPagesOf, lookFor, lookWide, type Target, undatedSlices } from '../../model/sync/pass-slices.ts';
import {
  type Coverage,
  coverageOf,
  dateSlackMs,
  everything,
  isCovered,
  type PlannedSlice,
  pagesOf,
  shifted,
} from '../../model/sync/slice.ts';
import { heldEntries } from '../database/held-entries.ts';
import type { FeedbackDatabase, SyncPassesTable } from '../database/tables.ts';
import type { PassSlice } from '../feedback-store.ts';
import { knownEntries } from './known-entries.ts';
import { countDated, missingEntries } from './missing-entries.ts';
import { watermark } from './passes.ts';
import { currentSlice, dropPlanned, listSlices, planSlices } from './slices.ts';
import { datesAreCoarse } from './sync-traits.ts';

type Db = Transaction<FeedbackDatabase>;
export type Pass = Selectable<SyncPassesTable>;

/** Windows whose entries are counted one by one; for more, everything is read instead. */
const mostWideWindows = 200;

/**
 * After a slice was read: what the pass does next (S4, docs/decisions/0040). Plans slices for what its readings
 * have left open, or notes that it is complete.
 */
export async function advancePass(db: Db, pass: Pass): Promise<void> {
  // What it reads next is looked for apart from the page's transaction (`planSpare`).
  if (pass.pass === 'verify') return;
  const coarse = await datesAreCoarse(db, pass.org_id, pass.project_id);
  if (coarse) for (const stage of ['look', 'again'] as const) await dropPlanned(db, pass.pass_id, stage);
  if ((await currentSlice(db, pass.pass_id)) !== null) return;
  const slices = await listSlices(db, pass.pass_id);
  const next = await nextSlices(db, pass, slices, coarse);
  if (next.length > 0) await planSlices(db, pass.pass_id, next);
  else await db.updateTable('sync_passes').set({ complete: 1 }).where('pass_id', '=', pass.pass_id).execute();
}

async function nextSlices(db: Db, pass: Pass, slices: PassSlice[], coarse: boolean): Promise<PlannedSlice[]> {
  if (pass.pass === 'incremental') return missedBefore(db, pass, slices);
  if (pass.pass === 'review') {
    const isReview = slices.some(({ stage }) => stage === 'open');
    return isReview ? lookForClosed(db, pass, slices, coarse) : [];
  }
  if (leavesUndated(slices)) return undatedAfter(db, pass);
  return lookAgain(db, pass, slices, coarse, false);
}

/**
 * An incremental pass has to come upon what was read before: if its oldest entry is later than the watermark, the
 * service took the lower bound for a later one, and the pass begins earlier.
 */
async function missedBefore(db: Db, pass: Pass, slices: PassSlice[]): Promise<PlannedSlice[]> {
  const greatest = await watermark(db, pass.org_id, pass.project_id);
  const from = pass.date_from;
  if (from === null || greatest === null || from > greatest) return [];
  if (slices.some(({ dateFrom }) => dateFrom !== null && dateFrom < from)) return [];
  const { oldest } = extremes(slices);
  if (oldest !== null && oldest <= greatest) return [];
  const dates = { dateFrom: from, dateTo: shifted(greatest, 1) };
  if ((await countDated(db, keyOf(pass), dates)) === 0) return [];
  const dateTo = oldest === null ? pass.date_to : shifted(oldest, dateSlackMs);
  return [{ ...everything, dateFrom: shifted(from, -dateSlackMs), dateTo, stage: 'read', expectedPages: 1 }];
}

async function lookForClosed(db: Db, pass: Pass, slices: PassSlice[], coarse: boolean): Promise<PlannedSlice[]> {
  const looks = slices.filter(({ stage }) => stage === 'look');
  const lookedAtAll = looks.some(({ dateFrom, dateTo }) => dateFrom === pass.date_from && dateTo === pass.date_to);
  if (lookedAtAll || (looks.length > 0 && !coarse)) return lookAgain(db, pass, slices, coarse, true);
  const { targets, list } = await missingEntries(db, { ...question(pass), open: true, among: 'closed' });
  const covered = coverageOfStages(pass, slices, ['open']);
  const wanted = targets.filter(({ at }) => covered !== null && isCovered(covered, at));
  if (wanted.length === 0) return [];
  if (!coarse) return lookFor('look', wanted, list, await requestsLeft(db, pass));
  // Days are too coarse for windows: those around what is looked for, or all closed entries.
  const [dateFrom, dateTo] = [pass.date_from, pass.date_to];
  const expectedPages = pagesOf(list.total);
  const all: PlannedSlice = { ...everything, dateFrom, dateTo, stage: 'look', statuses: closedStatuses, expectedPages };
  return cheaper(await wideWindows(db, pass, wanted), [all]);
}

/** The second reading of what is missing: narrow windows first, wide ones for what those did not cover for sure. */
async function lookAgain(
  db: Db,
  pass: Pass,
  slices: PassSlice[],
  coarse: boolean,
  open: boolean,
): Promise<PlannedSlice[]> {
  if (slices.some(({ stage }) => stage === 'wide')) return [];
  const covered = coverageOfStages(pass, slices, ['read', 'open']);
  if (covered === null) return [];
  const { targets, list } = await missingEntries(db, { ...question(pass), open, among: 'all' });
  const read = slices.filter(({ stage, outcome }) => stage === 'again' && outcome === 'read');
  const seen = read.flatMap((slice) => coverageOfSlice(slice) ?? []);
  const wanted = targets.filter(({ at }) => isCovered(covered, at) && !seen.some((part) => isCovered(part, at)));
  if (wanted.length === 0) return [];
  const left = open ? await requestsLeft(db, pass) : Number.POSITIVE_INFINITY;
  if (!coarse && !slices.some(({ stage }) => stage === 'again')) return lookFor('again', wanted, list, left);
  const whole: PlannedSlice = { ...everything, stage: 'wide', expectedPages: pagesOf(list.total) };
  const planned = cheaper(await wideWindows(db, pass, wanted), [whole]);
  return (expectedPagesOf(planned) ?? 0) <= left ? planned : [];
}

/** Wide windows with what they are expected to cost; null where they are too many to count. */
async function wideWindows(db: Db, pass: Pass, wanted: readonly Target[]): Promise<PlannedSlice[] | null> {
  const windows = lookWide(wanted.map(({ at }) => at));
  if (windows.length > mostWideWindows) return null;
  const planned: PlannedSlice[] = [];
  for (const window of windows) {
    planned.push({ ...window, expectedPages: pagesOf(await countDated(db, keyOf(pass), window)) });
  }
  return planned;
}

function cheaper(windows: PlannedSlice[] | null, all: PlannedSlice[]): PlannedSlice[] {
  return windows !== null && (expectedPagesOf(windows) ?? 0) < (expectedPagesOf(all) ?? 0) ? windows : all;
}

/** The windows of a review never cost more than what reading everything would have left. */
async function requestsLeft(db: Db, pass: Pass): Promise<number> {
  const { held } = await knownEntries(db, pass.org_id, pass.project_id, { dateFrom: null, dateTo: null });
  return Math.max(0, pagesOf(held) - pass.pages);
}

/** Whether a walk over everything was cut before it can have come to the entries without a date. */
function leavesUndated(slices: readonly PassSlice[]): boolean {
  if (slices.some(({ stage }) => stage === 'undated')) return false;
  return slices.some((slice) => {
    const { outcome, dateFrom, dateTo, oldestSeen, undatedPlace } = slice;
    if (outcome !== 'cut' || dateFrom !== null || dateTo !== null) return false;
    return undatedPlace !== 'first' || oldestSeen === null;
  });
}

async function undatedAfter(db: Db, pass: Pass): Promise<PlannedSlice[]> {
  const rows = await heldEntries(db, keyOf(pass))
    .select((row) => ['source', 'status', row.fn.countAll().as('entries')])
    .where('status', 'in', knownStatuses)
    .groupBy(['source', 'status'])
    .execute();
  const counts = new Map(rows.map((row) => [`${row.source} ${row.status}`, Number(row.entries)]));
  return undatedSlices((source, status) => counts.get(`${source} ${status}`) ?? 0);
}

/** What the slices of these stages cover together: they follow each other without a gap. */
export function coverageOfStages(
  pass: Pass,
  slices: readonly PassSlice[],
  stages: readonly PassSlice['stage'][],
): Coverage | null {
  const read = slices.filter(({ stage }) => stages.includes(stage));
  return coverageOf({ dateFrom: pass.date_from, dateTo: pass.date_to }, extremes(read));
}

export function coverageOfSlice(slice: PassSlice): Coverage | null {
  return coverageOf(slice, { oldest: slice.oldestSeen, newest: slice.newestSeen });
}

function extremes(slices: readonly PassSlice[]): { oldest: string | null; newest: string | null } {
  const oldest = slices.flatMap(({ oldestSeen }) => oldestSeen ?? []).sort()[0] ?? null;
  const newest =
    slices
      .flatMap(({ newestSeen }) => newestSeen ?? [])
      .sort()
      .at(-1) ?? null;
  return { oldest, newest };
}

function question(pass: Pass) {
  return { ...keyOf(pass), unseenSince: pass.started_at };
}

function keyOf(pass: Pass) {
  return { org: pass.org_id, project: pass.project_id };
}
