import { ask, coverageOfSlice, coverageOfStages, type Decision, datesSeen, isWholeWalk } from './fact-queries.ts';
import { closedStatuses } from './feedback-entry.ts';
import { expectedPagesOf, lookFor, lookWide, type Target, undatedSlices } from './plan-slices.ts';
import type { PassOutline, PassSlice } from './slice.ts';
import { dateSlackMs, everything, isCovered, type PlannedSlice, pagesOf, type SliceStage, shifted } from './slice.ts';

/** What a pass does after one of its slices was read to its end. */
interface NextStep {
  /** What the slice has shown of the service: whether it takes date-times for their dates; null for nothing new. */
  coarseDates: boolean | null;
  /** Stages whose slices are dropped if they have not begun. */
  dropped: readonly SliceStage[];
  /** Slices to add to those that are planned. */
  slices: readonly PlannedSlice[];
  /** Nothing is left to read. */
  complete: boolean;
}

/** Wide windows whose entries are counted one by one; for more, everything is read instead. */
const mostWideWindows = 200;

/** Dates may be written in whole seconds, and be this many milliseconds out. */
const roundingMs = 2_000;

/** If a second look leaves out fewer entries than this, they may have been deleted meanwhile. */
const notAllDeleted = 3;

/** Slices that rely on exact date-times: the second looks. */
const narrow: readonly SliceStage[] = ['look', 'again'];

/** What the pass does after `slice` was read to its end and its findings were noted (S4, reading.md). */
export function* nextStep(pass: PassOutline, slice: PassSlice): Decision<NextStep> {
  // A service may change its ways: a sweep learns them from the start.
  const forget = pass.pass === 'sweep' && isWholeWalk(slice) ? false : null;
  const coarseDates = (yield* showsCoarseDates(slice)) ? true : forget;
  const nothing = { coarseDates, dropped: [], slices: [], complete: false };
  // The refresh queue chooses the next page.
  if (pass.pass === 'refresh') return nothing;
  const coarse = coarseDates ?? (yield* ask('datesAreCoarse'));
  const planned = yield* ask('slices');
  const slices = planned.filter(({ stage, outcome }) => !coarse || outcome !== 'planned' || !narrow.includes(stage));
  const step = { ...nothing, dropped: slices.length < planned.length ? narrow : [] };
  if (slices.some(({ outcome }) => outcome !== 'read' && outcome !== 'cut')) return step;
  const next = yield* nextSlices(pass, slices, coarse);
  return { ...step, slices: next, complete: next.length === 0 };
}

/**
 * Whether a slice that was read to its end shows that the service understands date-times for something else: it
 * returned entries outside the bounds, or a second look returned nothing or left out entries that are there.
 */
function* showsCoarseDates(slice: PassSlice): Decision<boolean> {
  const { dateFrom, dateTo, oldestSeen, newestSeen, stage, source, entries } = slice;
  if (stage === 'wide' || source !== null || (dateFrom === null && dateTo === null)) return false;
  if (dateFrom !== null && oldestSeen !== null && oldestSeen < shifted(dateFrom, -roundingMs)) return true;
  if (dateTo !== null && newestSeen !== null && newestSeen > shifted(dateTo, roundingMs)) return true;
  if (!narrow.includes(stage)) return false;
  return entries === 0 || (yield* ask('leftOutBy', slice)) >= notAllDeleted;
}

function* nextSlices(
  pass: PassOutline,
  slices: readonly PassSlice[],
  coarse: boolean,
): Decision<readonly PlannedSlice[]> {
  if (pass.pass === 'incremental') return yield* missedBefore(pass, slices);
  if (pass.pass === 'review') {
    const isReview = slices.some(({ stage }) => stage === 'open');
    return isReview ? yield* lookForClosed(pass, slices, coarse) : [];
  }
  if (!leavesUndated(slices)) return yield* lookAgain(pass, slices, coarse);
  const counts = yield* ask('entriesBySourceAndStatus');
  return undatedSlices((source, status) => counts.get(`${source} ${status}`) ?? 0);
}

/**
 * An incremental pass must reach an entry that an earlier pass read: if its oldest entry is later than the watermark,
 * the service took the lower bound for a later one, and the pass begins earlier.
 */
function* missedBefore(pass: PassOutline, slices: readonly PassSlice[]): Decision<PlannedSlice[]> {
  const from = pass.dateFrom;
  if (from === null) return [];
  const watermark = yield* ask('watermark');
  if (watermark === null || from > watermark) return [];
  if (slices.some(({ dateFrom }) => dateFrom !== null && dateFrom < from)) return [];
  const { oldest } = datesSeen(slices);
  if (oldest !== null && oldest <= watermark) return [];
  if ((yield* ask('entriesWithin', { dateFrom: from, dateTo: shifted(watermark, 1) })) === 0) return [];
  const dateTo = oldest === null ? pass.dateTo : shifted(oldest, dateSlackMs);
  return [{ ...everything, dateFrom: shifted(from, -dateSlackMs), dateTo, stage: 'read', expectedPages: 1 }];
}

/** An entry stored as open that was not among the open entries has been closed, or is gone. */
function* lookForClosed(
  pass: PassOutline,
  slices: readonly PassSlice[],
  coarse: boolean,
): Decision<readonly PlannedSlice[]> {
  const { dateFrom, dateTo } = pass;
  const looks = slices.filter(({ stage }) => stage === 'look');
  const lookedAtAll = looks.some((look) => look.dateFrom === dateFrom && look.dateTo === dateTo);
  if (lookedAtAll || (looks.length > 0 && !coarse)) return yield* lookAgain(pass, slices, coarse);
  const { targets, list } = yield* ask('missing', { open: true, among: 'closed' });
  const covered = coverageOfStages(pass, slices, ['open']);
  const wanted = targets.filter(({ at }) => covered !== null && isCovered(covered, at));
  if (wanted.length === 0) return [];
  if (!coarse) return lookFor('look', wanted, list, yield* requestsLeft(pass));
  // Dates are too coarse for narrow windows: takes wide ones around the missing entries, or all closed entries.
  const expectedPages = pagesOf(list.total);
  const all: PlannedSlice = { ...everything, dateFrom, dateTo, stage: 'look', statuses: closedStatuses, expectedPages };
  return cheaper(yield* wideWindows(wanted), [all]);
}

/** Reads missing entries a second time: in narrow windows, then in wide ones where those did not surely cover them. */
function* lookAgain(
  pass: PassOutline,
  slices: readonly PassSlice[],
  coarse: boolean,
): Decision<readonly PlannedSlice[]> {
  if (slices.some(({ stage }) => stage === 'wide')) return [];
  const covered = coverageOfStages(pass, slices, ['read', 'open']);
  if (covered === null) return [];
  const isReview = pass.pass === 'review';
  const { targets, list } = yield* ask('missing', { open: isReview, among: 'all' });
  const again = slices.filter(({ stage }) => stage === 'again');
  const seen = again.flatMap((slice) => (slice.outcome === 'read' ? (coverageOfSlice(slice) ?? []) : []));
  const wanted = targets.filter(({ at }) => isCovered(covered, at) && !seen.some((dates) => isCovered(dates, at)));
  if (wanted.length === 0) return [];
  const left = isReview ? yield* requestsLeft(pass) : Number.POSITIVE_INFINITY;
  if (!coarse && again.length === 0) return lookFor('again', wanted, list, left);
  const whole: PlannedSlice = { ...everything, stage: 'wide', expectedPages: pagesOf(list.total) };
  const planned = cheaper(yield* wideWindows(wanted), [whole]);
  return (expectedPagesOf(planned) ?? 0) <= left ? planned : [];
}

/** Wide windows with what they are expected to cost; null where they are too many to count. */
function* wideWindows(wanted: readonly Target[]): Decision<PlannedSlice[] | null> {
  const windows = lookWide(wanted.map(({ at }) => at));
  if (windows.length > mostWideWindows) return null;
  const planned: PlannedSlice[] = [];
  for (const window of windows) {
    planned.push({ ...window, expectedPages: pagesOf(yield* ask('entriesWithin', window)) });
  }
  return planned;
}

function cheaper(windows: PlannedSlice[] | null, all: PlannedSlice[]): PlannedSlice[] {
  return windows !== null && (expectedPagesOf(windows) ?? 0) < (expectedPagesOf(all) ?? 0) ? windows : all;
}

/** The windows of a review never cost more than what reading everything would have left. */
function* requestsLeft(pass: PassOutline): Decision<number> {
  return Math.max(0, pagesOf(yield* ask('entries')) - pass.pages);
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
