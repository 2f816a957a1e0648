import { pageSize, pagesOf } from './slice.ts';

/** A run of places in a list sorted by date, both included. */
export interface RankWindow {
  first: number;
  last: number;
  /** How many of the targets it contains. */
  targets: number;
}

/** Entries a window is filled up to: some may have come since the store counted, and a page more would cost a request. */
const filledUpTo = 90;

/**
 * The cheapest windows that contain all `targets`: places, in ascending order, in a list of `total` entries sorted by date.
 * Each window of up to a page costs one request, so the first target not yet covered begins a window of a page, which
 * is the furthest any cover could get with that request; windows that touch are read as one. The total is never more
 * than reading the whole list. A window with room is filled on both sides, so that what surrounds its targets shows
 * whether the service read the bounds as they were meant (`coverageOf`).
 */
export function coverRanks(targets: readonly number[], total: number): RankWindow[] {
  const windows: RankWindow[] = [];
  for (let at = 0; at < targets.length; ) {
    const first = targets[at] ?? 0;
    const window: RankWindow = { first, last: first, targets: 0 };
    for (; at < targets.length && (targets[at] ?? 0) - first < pageSize; at += 1) {
      window.last = targets[at] ?? window.last;
      window.targets += 1;
    }
    const before = windows.at(-1);
    if (before !== undefined && before.last + 1 === first) {
      before.last = window.last;
      before.targets += window.targets;
    } else {
      windows.push(window);
    }
  }
  return windows.map((window) => filled(window, total));
}

/** Those windows, the ones with most targets first in mind, that `requests` requests can read; in their order. */
export function affordable(windows: readonly RankWindow[], requests: number): RankWindow[] {
  if (costOf(windows) <= requests) return [...windows];
  const chosen = new Set<RankWindow>();
  let left = requests;
  for (const window of [...windows].sort((a, b) => b.targets - a.targets)) {
    const cost = costOf([window]);
    if (cost > left) continue;
    chosen.add(window);
    left -= cost;
  }
  return windows.filter((window) => chosen.has(window));
}

/** Requests that reading the windows takes. */
export function costOf(windows: readonly RankWindow[]): number {
  return windows.reduce((sum, { first, last }) => sum + pagesOf(last - first + 1), 0);
}

function filled({ first, last, targets }: RankWindow, total: number): RankWindow {
  const room = filledUpTo - (last - first + 1);
  if (room <= 0) return { first, last, targets };
  const before = Math.min(first, Math.ceil(room / 2));
  return { first: first - before, last: Math.min(total - 1, last + Math.floor(room / 2)), targets };
}
