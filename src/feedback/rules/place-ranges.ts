import { pageSize, pagesOf } from './slice.ts';

/** A run of places in a list sorted by date, both included. */
export interface PlaceRange {
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
