import { isoInstant } from '../../rules/text.ts';
import type { VerifiedRange } from './pass-bounds.ts';
import { dateSlackMs, everything, isoText, type PlannedSlice, pagesOf, type SliceQuery, shifted } from './slice.ts';

/** Entries a window is cut to: a page has room for its neighbours and for what has come since. */
export const entriesPerWindow = 90;

/** Days over which changes are counted. */
const changesCountedDays = 28;

/** A stretch of dated entries that fits one page, oldest first, without gaps in the order of dates. */
export interface DatedWindow {
  /** Moments of its first and last entry. */
  oldest: string;
  newest: string;
  entries: number;
  /** The earliest `last_seen_at` of its entries. */
  leastSeen: string;
  /** Changes of its entries within `observedMs`. */
  changes: number;
}

type Bounds = Pick<SliceQuery, 'dateFrom' | 'dateTo'>;

export interface SpareQuestion {
  windows: readonly DatedWindow[];
  /** For each range of dates, the moment up to which it is complete. */
  ranges: readonly VerifiedRange[];
  /** Now, UTC ISO 8601. */
  at: string;
  /** Windows read within this many milliseconds are not read again. */
  restMs: number;
  /** Time over which changes were counted, in milliseconds. */
  observedMs: number;
  /** Windows that were already read within `restMs`, complete or not. */
  read: readonly Bounds[];
  /** The service takes date-times for their dates: bounds need margins. */
  coarse: boolean;
}

/**
 * The windows most worth a spare request, best first, at most `count` (S4).
 * Each reaches to the entries beside it, so that the dates a page covers join those its neighbours cover.
 */
export function worthReading(question: SpareQuestion, count: number): PlannedSlice[] {
  const { windows, at, restMs, observedMs, coarse } = question;
  const now = isoInstant(at) ?? 0;
  return windows
    .map((window, index) => ({ query: queryOf(windows, index, coarse), window }))
    .filter(({ query }) => !question.read.some((slice) => contains(slice, query)))
    .map(({ query, window }) => ({ query, window, ageMs: now - (isoInstant(checkedAt(window, question.ranges)) ?? 0) }))
    .filter(({ ageMs }) => ageMs >= restMs)
    .sort((a, b) => worthOf(b.window, b.ageMs, observedMs) - worthOf(a.window, a.ageMs, observedMs))
    .slice(0, count)
    .map(({ query, window }) => ({ ...query, stage: 'read', expectedPages: pagesOf(window.entries) }));
}

/**
 * What reading a window again is worth, in entry-milliseconds of being right: an entry that changes at the rate r and
 * was seen t ago is still right with probability e^(-rt). Reading each window whenever
 * `(1 - (1 + rt) e^(-rt)) / r` reaches the same value keeps most entries right for the requests there are (the derivative
 * of the mean over the interval t; the problem is that of Cho and Garcia-Molina, Effective Page Refresh Policies for Web
 * Crawlers, 2003). Half a change is added, so that nothing is taken for unchanging.
 */
export function worthOf(
  { entries, changes }: Pick<DatedWindow, 'entries' | 'changes'>,
  ageMs: number,
  observedMs: number,
) {
  const rate = (changes + 0.5) / (entries * observedMs);
  const seen = rate * Math.max(0, ageMs);
  return (entries * shareOf(seen)) / rate;
}

/** `1 - (1 + x) e^(-x)`; for small x by its series, where the difference would lose all digits. */
function shareOf(x: number): number {
  return x < 1e-3 ? x ** 2 * (1 / 2 - x / 3 + x ** 2 / 8) : 1 - (1 + x) * Math.exp(-x);
}

/** The moment at which all of a window was last checked: complete, or at least each entry seen. */
function checkedAt({ oldest, newest, leastSeen }: DatedWindow, ranges: readonly VerifiedRange[]): string {
  let checked: string | null = null;
  for (const { from, to, verifiedUpTo } of ranges) {
    if ((from !== null && from > newest) || (to !== null && to <= oldest)) continue;
    // Not complete: only the entries tell when they were seen.
    if (verifiedUpTo === null) return leastSeen;
    if (checked === null || verifiedUpTo < checked) checked = verifiedUpTo;
  }
  // An entry that was not seen when its surroundings were complete is missing.
  return checked === null || leastSeen < checked ? leastSeen : checked;
}

function queryOf(windows: readonly DatedWindow[], index: number, coarse: boolean): SliceQuery {
  const [before, window, after] = [windows[index - 1], windows[index], windows[index + 1]];
  if (window === undefined) throw new RangeError(`no window ${index}`);
  if (coarse) {
    const dates = { dateFrom: shifted(window.oldest, -dateSlackMs), dateTo: shifted(window.newest, dateSlackMs + 1) };
    return { ...everything, ...dates };
  }
  // A millisecond on both sides: bounds may be exclusive, and moments finer than a millisecond.
  return {
    ...everything,
    dateFrom: before === undefined ? null : shifted(before.newest, -1),
    dateTo: after === undefined ? null : shifted(after.oldest, 1),
  };
}

function contains(outer: Bounds, inner: Bounds): boolean {
  const fromBefore = outer.dateFrom === null || (inner.dateFrom !== null && outer.dateFrom <= inner.dateFrom);
  const toAfter = outer.dateTo === null || (inner.dateTo !== null && inner.dateTo <= outer.dateTo);
  return fromBefore && toAfter;
}

/** The moment since which changes are counted. */
export function changesCountedSince(at: string, firstSweep: string): { since: string; observedMs: number } {
  const now = isoInstant(at) ?? 0;
  const since = Math.max(now - changesCountedDays * 86_400_000, isoInstant(firstSweep) ?? 0);
  // Less than a day says nothing about a rate.
  return { since: isoText(since), observedMs: Math.max(86_400_000, now - since) };
}
