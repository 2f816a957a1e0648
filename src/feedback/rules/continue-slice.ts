import { ask, type Decision } from './fact-queries.ts';
import {
  CannotResume,
  dateSlackMs,
  GapInDates,
  isMet,
  joinOrders,
  orderOf,
  type PassOutline,
  type PassSlice,
  RepeatedCursor,
  type ResumedSlice,
  reachOf,
  resumedQuery,
  type SliceQuery,
} from './slice.ts';

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
  /** Cursor of the request. */
  cursor: string | null;
  /** UTC ISO 8601. */
  askedAt: string;
  /** Digest of its ids. */
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
export function* afterPage(pass: PassOutline, slice: PassSlice, page: PageReading): Decision<SliceStep> {
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
    if (!isMet(dates, slice.order, slice.joinsAt)) return widened(read, yield* ask('slices'));
  }
  if (page.hasMore) return { slice: read, resumed: null, unshifted: false };
  if (page.mayCheck && (yield* isWorthACheck(pass, read))) {
    return { slice: { ...read, outcome: 'checking' }, resumed: null, unshifted: false };
  }
  return ended(read, read.pages === 1);
}

/** A slice that was read to its end. */
export function ended(slice: PassSlice, unshifted: boolean): SliceStep {
  return { slice: { ...slice, outcome: 'read' }, resumed: null, unshifted };
}

/**
 * Continues a slice whose cursor died with a slice by date from where it stopped. Queries without dates, which exist
 * for entries without a date, start over a few times. Throws `CannotResume`.
 */
export function* afterCut(slice: PassSlice): Decision<SliceStep> {
  const { stage, source, statuses, order, joinsAt, reached } = slice;
  const cut: PassSlice = { ...slice, outcome: 'cut' };
  if (stage === 'undated') {
    const cuts = (yield* ask('slices')).filter(
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
function* isWorthACheck({ pass }: PassOutline, { stage, pages }: PassSlice): Decision<boolean> {
  if (pass !== 'sweep' || stage !== 'read' || pages < 2) return false;
  return pages >= checkedPages || (yield* ask('everSwept'));
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
