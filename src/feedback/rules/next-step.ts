import { coverageOfSlice, coverageOfStages, datesSeen, isWholeWalk, type StoreFacts } from './fact-queries.ts';
import { closedStatuses } from './feedback-entry.ts';
import { expectedPagesOf, lookFor, lookWide, type Target, undatedSlices } from './plan-slices.ts';
import {
  CannotResume,
  dateSlackMs,
  everything,
  GapInDates,
  isCovered,
  isMet,
  joinOrders,
  orderOf,
  type PassOutline,
  type PassSlice,
  type PlannedSlice,
  pagesOf,
  RepeatedCursor,
  type ResumedSlice,
  reachOf,
  resumedQuery,
  type SliceQuery,
  type SliceStage,
  shifted,
} from './slice.ts';

/** What a pass does after one of its slices was read to its end. */
interface NextStep {
  /** What the slice has shown of the service: whether it takes date-times for their dates; null for nothing new. */
  coarseDates: boolean | null;
  /** Stages whose slices are dropped if they have not begun. */
  dropped: readonly SliceStage[];
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
export async function nextStep(facts: StoreFacts, pass: PassOutline, slice: PassSlice): Promise<NextStep> {
  // A service may change its ways: a sweep learns them from the start.
  const forget = pass.pass === 'sweep' && isWholeWalk(slice) ? false : null;
  const coarseDates = (await showsCoarseDates(facts, slice)) ? true : forget;
  const nothing = { coarseDates, dropped: [], slices: [], complete: false };
  // The refresh queue chooses the next page.
  if (pass.pass === 'refresh') return nothing;
  const coarse = coarseDates ?? (await facts.datesAreCoarse());
  const planned = await facts.slices();
  const slices = planned.filter(({ stage, outcome }) => !coarse || outcome !== 'planned' || !narrow.includes(stage));
  const step = { ...nothing, dropped: slices.length < planned.length ? narrow : [] };
  if (slices.some(({ outcome }) => outcome !== 'read' && outcome !== 'cut')) return step;
  const next = await nextSlices(facts, pass, slices, coarse);
  return { ...step, slices: next, complete: next.length === 0 };
}

/**
 * Whether a slice that was read to its end shows that the service understands date-times for something else: it
 * returned entries outside the bounds, or a second look returned nothing or left out entries that are there.
 */
async function showsCoarseDates(facts: StoreFacts, slice: PassSlice): Promise<boolean> {
  const { dateFrom, dateTo, oldestSeen, newestSeen, stage, source, entries } = slice;
  if (stage === 'wide' || source !== null || (dateFrom === null && dateTo === null)) return false;
  if (dateFrom !== null && oldestSeen !== null && oldestSeen < shifted(dateFrom, -roundingMs)) return true;
  if (dateTo !== null && newestSeen !== null && newestSeen > shifted(dateTo, roundingMs)) return true;
  if (!narrow.includes(stage)) return false;
  return entries === 0 || (await facts.leftOutBy(slice)) >= notAllDeleted;
}

async function nextSlices(
  facts: StoreFacts,
  pass: PassOutline,
  slices: readonly PassSlice[],
  coarse: boolean,
): Promise<readonly PlannedSlice[]> {
  if (pass.pass === 'incremental') return await missedBefore(facts, pass, slices);
  if (pass.pass === 'review') {
    const isReview = slices.some(({ stage }) => stage === 'open');
    return isReview ? await lookForClosed(facts, pass, slices, coarse) : [];
  }
  if (!leavesUndated(slices)) return await lookAgain(facts, pass, slices, coarse);
  const counts = await facts.entriesBySourceAndStatus();
  return undatedSlices((source, status) => counts.get(`${source} ${status}`) ?? 0);
}

/**
 * An incremental pass must reach an entry that an earlier pass read: if its oldest entry is later than the watermark,
 * the service took the lower bound for a later one, and the pass begins earlier.
 */
async function missedBefore(
  facts: StoreFacts,
  pass: PassOutline,
  slices: readonly PassSlice[],
): Promise<PlannedSlice[]> {
  const from = pass.dateFrom;
  if (from === null) return [];
  const watermark = await facts.watermark();
  if (watermark === null || from > watermark) return [];
  if (slices.some(({ dateFrom }) => dateFrom !== null && dateFrom < from)) return [];
  const { oldest } = datesSeen(slices);
  if (oldest !== null && oldest <= watermark) return [];
  if ((await facts.entriesWithin({ dateFrom: from, dateTo: shifted(watermark, 1) })) === 0) return [];
  const dateTo = oldest === null ? pass.dateTo : shifted(oldest, dateSlackMs);
  return [{ ...everything, dateFrom: shifted(from, -dateSlackMs), dateTo, stage: 'read', expectedPages: 1 }];
}

/** An entry stored as open that was not among the open entries has been closed, or is gone. */
async function lookForClosed(
  facts: StoreFacts,
  pass: PassOutline,
  slices: readonly PassSlice[],
  coarse: boolean,
): Promise<readonly PlannedSlice[]> {
  const { dateFrom, dateTo } = pass;
  const looks = slices.filter(({ stage }) => stage === 'look');
  const lookedAtAll = looks.some((look) => look.dateFrom === dateFrom && look.dateTo === dateTo);
  if (lookedAtAll || (looks.length > 0 && !coarse)) return await lookAgain(facts, pass, slices, coarse);
  const { targets, list } = await facts.missing({ open: true, among: 'closed' });
  const covered = coverageOfStages(pass, slices, ['open']);
  const wanted = targets.filter(({ at }) => covered !== null && isCovered(covered, at));
  if (wanted.length === 0) return [];
  if (!coarse) return lookFor('look', wanted, list, await requestsLeft(facts, pass));
  // Dates are too coarse for narrow windows: takes wide ones around the missing entries, or all closed entries.
  const expectedPages = pagesOf(list.total);
  const all: PlannedSlice = { ...everything, dateFrom, dateTo, stage: 'look', statuses: closedStatuses, expectedPages };
  return cheaper(await wideWindows(facts, wanted), [all]);
}

/** Reads missing entries a second time: in narrow windows, then in wide ones where those did not surely cover them. */
async function lookAgain(
  facts: StoreFacts,
  pass: PassOutline,
  slices: readonly PassSlice[],
  coarse: boolean,
): Promise<readonly PlannedSlice[]> {
  if (slices.some(({ stage }) => stage === 'wide')) return [];
  const covered = coverageOfStages(pass, slices, ['read', 'open']);
  if (covered === null) return [];
  const isReview = pass.pass === 'review';
  const { targets, list } = await facts.missing({ open: isReview, among: 'all' });
  const again = slices.filter(({ stage }) => stage === 'again');
  const seen = again.flatMap((slice) => (slice.outcome === 'read' ? (coverageOfSlice(slice) ?? []) : []));
  const wanted = targets.filter(({ at }) => isCovered(covered, at) && !seen.some((dates) => isCovered(dates, at)));
  if (wanted.length === 0) return [];
  const left = isReview ? await requestsLeft(facts, pass) : Number.POSITIVE_INFINITY;
  if (!coarse && again.length === 0) return lookFor('again', wanted, list, left);
  const whole: PlannedSlice = { ...everything, stage: 'wide', expectedPages: pagesOf(list.total) };
  const planned = cheaper(await wideWindows(facts, wanted), [whole]);
  return (expectedPagesOf(planned) ?? 0) <= left ? planned : [];
}

/** Wide windows with what they are expected to cost; null where they are too many to count. */
async function wideWindows(facts: StoreFacts, wanted: readonly Target[]): Promise<PlannedSlice[] | null> {
  const windows = lookWide(wanted.map(({ at }) => at));
  if (windows.length > mostWideWindows) return null;
  const planned: PlannedSlice[] = [];
  for (const window of windows) {
    planned.push({ ...window, expectedPages: pagesOf(await facts.entriesWithin(window)) });
  }
  return planned;
}

function cheaper(windows: PlannedSlice[] | null, all: PlannedSlice[]): PlannedSlice[] {
  return windows !== null && (expectedPagesOf(windows) ?? 0) < (expectedPagesOf(all) ?? 0) ? windows : all;
}

/** The windows of a review never cost more than what reading everything would have left. */
async function requestsLeft(facts: StoreFacts, pass: PassOutline): Promise<number> {
  return Math.max(0, pagesOf(await facts.entries()) - pass.pages);
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

/** Pages in a row that bring nothing new and promise more: the service sends the pass in circles. */
const mostBarrenPages = 5;

/** How often a query whose cursor dies starts over if no date can help. */
const mostCuts = 3;

/** From this many pages on, one more request is at most a tenth of them. */
const checkedPages = 10;

/** What a page says about the slice it belongs to. */
export interface PageReading {
  /** The `createdAt` of each entry in the order sent, UTC ISO 8601; null where it cannot be understood. */
  moments: readonly (string | null)[];
  /** Entries of the page, unreadable ones included. */
  sent: number;
  hasMore: boolean;
  /** Whether the last page of a slice may be requested again. */
  mayCheck: boolean;
  cursor: string | null;
  /** UTC ISO 8601. */
  askedAt: string;
  digest: string;
  /** False for an empty page, and for one that came before. */
  isNew: boolean;
  /** Entries that this reading had already seen. */
  repeats: number;
}

/** Where a slice stands after a page or a dead cursor. */
export interface SliceStep {
  slice: PassSlice;
  /** What continues a slice that was cut. */
  resumed: ResumedSlice | null;
  /** Of a slice read to its end: no page can have shifted meanwhile. */
  unshifted: boolean;
}

/** What a page makes of its slice. Throws `RepeatedCursor` and `GapInDates`. */
export async function afterPage(
  facts: StoreFacts,
  pass: PassOutline,
  slice: PassSlice,
  page: PageReading,
): Promise<SliceStep> {
  const barrenPages = page.isNew || !page.hasMore ? 0 : slice.barrenPages + 1;
  if (barrenPages > mostBarrenPages) {
    throw new RepeatedCursor(
      `more than ${mostBarrenPages} pages in a row were empty or given before, and promise more`,
    );
  }
  const dates = page.moments.filter((moment) => moment !== null);
  const order = joinOrders(slice.order, orderOf(dates));
  const read: PassSlice = {
    ...slice,
    outcome: 'reading',
    startedAt: slice.startedAt ?? page.askedAt,
    pages: slice.pages + 1,
    entries: slice.entries + page.sent,
    repeats: slice.repeats + page.repeats,
    barrenPages,
    order,
    oldestSeen: least([slice.oldestSeen, ...dates]),
    newestSeen: greatest([slice.newestSeen, ...dates]),
    reached: (order === 'newest' ? least : greatest)([slice.reached, reachOf(dates, order)]),
    undatedPlace: undatedPlaceAfter(slice, page.moments),
    lastCursor: page.cursor,
    lastDigest: page.digest,
  };
  if (slice.joinsAt !== null && slice.oldestSeen === null && (dates.length > 0 || !page.hasMore)) {
    if (!isMet(dates, slice.order, slice.joinsAt)) return widened(read, await facts.slices());
  }
  if (page.hasMore) return { slice: read, resumed: null, unshifted: false };
  if (page.mayCheck && (await isWorthACheck(facts, pass, read))) {
    return { slice: { ...read, outcome: 'checking' }, resumed: null, unshifted: false };
  }
  return ended(read, read.pages === 1);
}

/** A slice that was read to its end. */
export function ended(slice: PassSlice, unshifted: boolean): SliceStep {
  return { slice: { ...slice, outcome: 'read' }, resumed: null, unshifted };
}

/** Continues a slice by date once its cursor died; without dates it starts over, a few times. Throws `CannotResume`. */
export async function afterCut(facts: StoreFacts, slice: PassSlice): Promise<SliceStep> {
  const { stage, source, statuses, order, joinsAt, reached } = slice;
  const cut: PassSlice = { ...slice, outcome: 'cut' };
  if (stage === 'undated') {
    const cuts = (await facts.slices()).filter(
      (other) => other.outcome === 'cut' && other.source === source && other.statuses?.join() === statuses?.join(),
    );
    if (cuts.length >= mostCuts) {
      throw new CannotResume(
        `cursors die before the entries without createdAt (source ${source}, status ${statuses?.join()}) are reached; ` +
          'everything with a date is stored',
      );
    }
    const { expectedPages } = slice;
    const again = { ...queryOf(slice), stage, expectedPages, order, joinsAt: null, slackMs: 0 };
    return { slice: cut, resumed: again, unshifted: false };
  }
  const query = resumedQuery(queryOf(slice), order, reached, 0);
  if (query === null) {
    throw new CannotResume('a cursor died, and the entries are not sent in the order of their dates');
  }
  const isBeyond = reached !== null && joinsAt !== null && (order === 'newest' ? reached < joinsAt : reached > joinsAt);
  if (joinsAt !== null && !isBeyond) {
    throw new CannotResume(`cursors die before they lead past the entries of ${joinsAt}`);
  }
  const resumed = { ...query, stage, expectedPages: null, order, joinsAt: reached, slackMs: 0 };
  return { slice: cut, resumed, unshifted: false };
}

/** A sweep of several pages is; a first one may cost its pages and a tenth (S3). */
async function isWorthACheck(facts: StoreFacts, { pass }: PassOutline, { stage, pages }: PassSlice): Promise<boolean> {
  if (pass !== 'sweep' || stage !== 'read' || pages < 2) return false;
  return pages >= checkedPages || (await facts.everSwept());
}

/** The first page did not begin where the slice before ended: the service takes the bounds for others. */
function widened(slice: PassSlice, slices: readonly PassSlice[]): SliceStep {
  const { stage, order, joinsAt } = slice;
  // The bound that the narrower slice put on the side where it continues is not part of the pass.
  const first = slices.find((other) => other.stage === stage && !other.joinsAt);
  const unbounded = order === 'newest' ? { dateTo: first?.dateTo ?? null } : { dateFrom: first?.dateFrom ?? null };
  const wider = resumedQuery({ ...queryOf(slice), ...unbounded }, order, joinsAt, dateSlackMs);
  if (slice.slackMs > 0 || wider === null) {
    throw new GapInDates(`the date filter does not return the entries of ${joinsAt}, which came before`);
  }
  const resumed = { ...wider, stage, expectedPages: null, order, joinsAt, slackMs: dateSlackMs };
  return { slice: { ...slice, outcome: 'cut' }, resumed, unshifted: false };
}

function queryOf({ dateFrom, dateTo, source, statuses }: SliceQuery): SliceQuery {
  return { dateFrom, dateTo, source, statuses };
}

/** Entries whose date cannot be understood count as undated: the service may put them anywhere. */
function undatedPlaceAfter(slice: PassSlice, moments: PageReading['moments']): PassSlice['undatedPlace'] {
  let place = slice.undatedPlace;
  let datedSeen = slice.oldestSeen !== null;
  for (const moment of moments) {
    if (moment !== null) datedSeen = true;
    else if (datedSeen) place = 'elsewhere';
    else place ??= 'first';
  }
  return place;
}

function least(dates: readonly (string | null)[]): string | null {
  return dates.reduce((a, b) => (a === null || b === null ? (a ?? b) : a < b ? a : b), null);
}

function greatest(dates: readonly (string | null)[]): string | null {
  return dates.reduce((a, b) => (a === null || b === null ? (a ?? b) : a > b ? a : b), null);
}
