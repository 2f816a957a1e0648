import { closedStatuses, knownSources, knownStatuses, openStatuses } from './feedback-entry.ts';
import { dateSlackMs, everything, type PlannedSlice, pageSize, pagesOf, shifted } from './slice.ts';
import type { PassBounds, PassKind } from './sync.ts';

/** A run of places in a list sorted by date, both included. */
interface PlaceRange {
  first: number;
  last: number;
  /** How many of the targets it contains. */
  targets: number;
}

/** Entries a range is filled up to: some may have come since the store counted, and a page more would cost a request. */
const filledUpTo = 90;

/**
 * The cheapest ranges that contain all `targets`: places, in ascending order, in a list of `total` entries sorted by date.
 * Each range of up to a page costs one request, so the first target not yet covered begins a range of a page, which
 * is the furthest any cover could get with that request; ranges that touch are read as one. The total is never more
 * than reading the whole list. A range with room is filled on both sides, so that what surrounds its targets shows
 * whether the service read the bounds as they were meant (`coverageOf`).
 */
export function coverRanks(targets: readonly number[], total: number): PlaceRange[] {
  const ranges: PlaceRange[] = [];
  for (let at = 0; at < targets.length; ) {
    const first = targets[at] ?? 0;
    const range: PlaceRange = { first, last: first, targets: 0 };
    for (; at < targets.length && (targets[at] ?? 0) - first < pageSize; at += 1) {
      range.last = targets[at] ?? range.last;
      range.targets += 1;
    }
    const before = ranges.at(-1);
    if (before !== undefined && before.last + 1 === first) {
      before.last = range.last;
      before.targets += range.targets;
    } else {
      ranges.push(range);
    }
  }
  return ranges.map((range) => filled(range, total));
}

/** The ranges that `requests` requests can read, chosen by most targets, returned in their original order. */
export function affordable(ranges: readonly PlaceRange[], requests: number): PlaceRange[] {
  if (costOf(ranges) <= requests) return [...ranges];
  const chosen = new Set<PlaceRange>();
  let left = requests;
  for (const range of [...ranges].sort((a, b) => b.targets - a.targets)) {
    const cost = costOf([range]);
    if (cost > left) continue;
    chosen.add(range);
    left -= cost;
  }
  return ranges.filter((range) => chosen.has(range));
}

/** Requests that reading the ranges takes. */
export function costOf(ranges: readonly PlaceRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + pagesOf(last - first + 1), 0);
}

function filled({ first, last, targets }: PlaceRange, total: number): PlaceRange {
  const room = filledUpTo - (last - first + 1);
  if (room <= 0) return { first, last, targets };
  const before = Math.min(first, Math.ceil(room / 2));
  return { first: first - before, last: Math.min(total - 1, last + Math.floor(room / 2)), targets };
}

/** What is stored of a project before a pass; tombstoned entries are in none of the numbers. */
export interface StoredCounts {
  stored: number;
  /** Of them, those within the dates of the pass. */
  inBounds: number;
  /** Of these, those whose status is open. */
  open: number;
  /** Whether a sweep has completed, so that `stored` is the true number. */
  everSwept: boolean;
}

/** Pages up to which a review reads everything if the open and the closed statuses, separately, have more. */
const smallProject = 10;

/** What a pass begins with, and why, in short words for people. */
export interface FirstSlices {
  slices: PlannedSlice[];
  reason: string;
}

/**
 * The first slices of a pass (S4). A sweep, and an incremental pass, is one walk: it needs no more requests than
 * it has pages, and is cut into slices by date only where its cursor dies (reading.md). A review reads the
 * open statuses, and what follows depends on what is missing there (`lookFor`); where all is open, or little is
 * stored, reading everything costs no more and shows more.
 */
export function firstSlices(pass: PassKind, bounds: PassBounds, counts: StoredCounts): FirstSlices {
  const walk = (reason: string, entries: number | null): FirstSlices => ({
    slices: [slice({ ...everything, ...bounds, stage: 'read' }, entries)],
    reason,
  });
  if (pass === 'sweep') return walk('everything', counts.everSwept ? counts.inBounds : null);
  if (pass === 'incremental') {
    const bounded = bounds.dateFrom !== null || counts.everSwept;
    return walk('what is new', bounded ? counts.inBounds : null);
  }
  const openPages = pagesOf(counts.open);
  if (counts.stored === 0) return walk('everything: nothing is stored yet', null);
  const allPages = pagesOf(counts.inBounds);
  const closedPages = pagesOf(Math.max(0, counts.inBounds - counts.open));
  const isSmall = allPages <= smallProject && openPages + closedPages > allPages;
  if (openPages >= allPages || isSmall) {
    return walk(
      openPages >= allPages
        ? 'everything: all is open, or nearly'
        : 'everything: for a small project that costs little more and shows more',
      counts.inBounds,
    );
  }
  const open = slice({ ...everything, ...bounds, stage: 'open', statuses: openStatuses }, counts.open);
  return { slices: [open], reason: 'the open statuses, then the entries that are no longer open' };
}

/** An entry looked for: its moment, and its place in the list that the windows would read. */
export interface Target {
  at: string;
  place: number;
}

/** The list that windows read: how many entries it has and the moments at some of its places. */
export interface DatedList {
  total: number;
  /** Moment of the entry at a place. Throws for a place that is not among `edgesOf`. */
  momentAt(place: number): string;
}

/** The places whose moments `lookFor` needs. */
export function edgesOf(targets: readonly Target[], total: number): number[] {
  return coverRanks(
    targets.map(({ place }) => place),
    total,
  ).flatMap(({ first, last }) => [first, last]);
}

/**
 * The cheapest date windows that contain all targets, newest first: `look` reads the closed statuses only, `again` all of
 * them. Never more requests than reading the whole list, nor than `atMost`: what does not fit is left to a later pass.
 */
export function lookFor(
  stage: 'look' | 'again',
  targets: readonly Target[],
  list: DatedList,
  atMost = Number.POSITIVE_INFINITY,
): PlannedSlice[] {
  const places = targets.map(({ place }) => place);
  const windows = affordable(coverRanks(places, list.total), atMost);
  const statuses = stage === 'look' ? closedStatuses : null;
  return windows
    .map(({ first, last }) => {
      // A millisecond on both sides: bounds may be exclusive, and moments finer than a millisecond.
      const dates = { dateFrom: shifted(list.momentAt(first), -1), dateTo: shifted(list.momentAt(last), 1) };
      return slice({ ...everything, ...dates, statuses, stage }, last - first + 1);
    })
    .reverse();
}

/**
 * Windows around the moments with `dateSlackMs` on both sides, newest first, merged where they overlap: complete
 * readings of them cover the moments however the service understands dates. `moments` ascend.
 */
export function lookWide(moments: readonly string[]): PlannedSlice[] {
  const windows: { dateFrom: string; dateTo: string }[] = [];
  for (const at of moments) {
    const [dateFrom, dateTo] = [shifted(at, -dateSlackMs), shifted(at, dateSlackMs + 1)];
    const before = windows.at(-1);
    if (before !== undefined && dateFrom <= before.dateTo) before.dateTo = dateTo;
    else windows.push({ dateFrom, dateTo });
  }
  return windows.map((dates) => ({ ...everything, ...dates, stage: 'wide' as const, expectedPages: null })).reverse();
}

/**
 * One query for each source and status, without dates: each is short enough to be read in one go where everything is
 * not, and has its entries without `createdAt` too. `entriesOf` counts the stored entries.
 */
export function undatedSlices(entriesOf: (source: string, status: string) => number): PlannedSlice[] {
  return knownSources.flatMap((source) =>
    knownStatuses.map((status) =>
      slice({ ...everything, source, statuses: [status], stage: 'undated' }, entriesOf(source, status)),
    ),
  );
}

/** Requests that the slices are expected to take; null when nothing is known of one. */
export function expectedPagesOf(slices: readonly PlannedSlice[]): number | null {
  let sum = 0;
  for (const { expectedPages } of slices) {
    if (expectedPages === null) return null;
    sum += expectedPages;
  }
  return sum;
}

function slice(query: Omit<PlannedSlice, 'expectedPages'>, entries: number | null): PlannedSlice {
  return { ...query, expectedPages: entries === null ? null : pagesOf(entries) };
}
