import { isoInstant } from '../../rules/text.ts';
import type { PassBounds, ReadingKind } from './sync.ts';

/** Entries a request brings at most (service-interface.md "Limits"). */
export const pageSize = 100;

/** Requests that `entries` entries take: an empty answer costs one too. */
export const pagesOf = (entries: number): number => Math.max(1, Math.ceil(entries / pageSize));

/**
 * What a slice of a pass is for, in the order in which a pass may take them:
 * - `read`: what the pass is about;
 * - `open`: the open statuses of a review;
 * - `look`: windows among the closed statuses, for entries stored as open that were not among the open ones;
 * - `undated`: one source and status without dates, for entries without `createdAt` that a walk did not reach;
 * - `again`: windows of all statuses for entries that are still missing: the second reading;
 * - `wide`: the same with margins that no reading of the bounds can exceed.
 */
export type SliceStage = 'read' | 'open' | 'look' | 'undated' | 'again' | 'wide';

/** The filters of one query (service-interface.md, endpoint 1); null for no filter. */
export interface SliceQuery extends PassBounds {
  source: string | null;
  statuses: readonly string[] | null;
}

export interface PlannedSlice extends SliceQuery {
  stage: SliceStage;
  /** Requests expected from what the store knows; null when it knows nothing. */
  expectedPages: number | null;
}

/** In which order of `createdAt` a service sends entries: learnt from its pages; `mixed` when by something else. */
export type EntryOrder = 'newest' | 'oldest' | 'mixed';

/** The query without any filter. */
export const everything: SliceQuery = { dateFrom: null, dateTo: null, source: null, statuses: null };

/**
 * How far the bounds of a date filter may be from those that were sent, in milliseconds: a service may take a date-time
 * for its date, in any time zone (14 h), and leave out the day of an exclusive bound (24 h); ten hours to spare.
 */
export const dateSlackMs = 48 * 3_600_000;

/** Neighbours looked at for the order, and for where a page ends: one odd date among them does not mislead. */
const lastEntries = 10;

/** The order of a page's dates, null where too few differ to tell. */
export function orderOf(dates: readonly string[]): EntryOrder | null {
  let [up, down] = [0, 0];
  for (const [index, date] of dates.entries()) {
    const before = dates[index - 1];
    if (before === undefined || before === date) continue;
    if (date > before) up += 1;
    else down += 1;
  }
  if (up + down === 0) return null;
  if (down >= 9 * up) return 'newest';
  return up >= 9 * down ? 'oldest' : 'mixed';
}

/** What two pages of one query say together. */
export function joinOrders(a: EntryOrder | null, b: EntryOrder | null): EntryOrder | null {
  if (a === null || b === null) return a ?? b;
  return a === b ? a : 'mixed';
}

/** The moment up to which a page has come, on the safe side of one odd date; null without dates. UTC ISO 8601. */
export function reachOf(dates: readonly string[], order: EntryOrder | null): string | null {
  if (order === null || order === 'mixed') return null;
  const last = dates.slice(-lastEntries).sort();
  return (order === 'newest' ? last.at(-1) : last[0]) ?? null;
}

/**
 * The query that continues where a walk with a dead cursor has come to (S3), or null when that is unknown. Its first
 * page must meet an entry at `reached` or on this side of it, which shows that nothing lies between (`isMet`); if it
 * does not, the same with `dateSlackMs` must.
 */
export function resumedQuery(
  query: SliceQuery,
  order: EntryOrder | null,
  reached: string | null,
  slackMs: number,
): SliceQuery | null {
  const at = reached === null ? null : isoInstant(reached);
  if (at === null || order === null || order === 'mixed') return null;
  if (order === 'newest') return { ...query, dateTo: earlier(query.dateTo, isoText(at + 1 + slackMs)) };
  return { ...query, dateFrom: later(query.dateFrom, isoText(at - 1 - slackMs)) };
}

/** Whether a page that should begin at `reached` does: its date filter let nothing slip. */
export function isMet(dates: readonly string[], order: EntryOrder | null, reached: string): boolean {
  return dates.some((date) => (order === 'oldest' ? date <= reached : date >= reached));
}

/** The time range that a complete reading covers, inclusive; null means unbounded. */
export interface Coverage {
  from: string | null;
  to: string | null;
}

/**
 * What the complete reading of a query covers, however the service understands its bounds: everything from the oldest
 * to the newest entry it returned, and everything further than `dateSlackMs` inside the bounds. Null for nothing.
 */
export function coverageOf(
  { dateFrom, dateTo }: Pick<SliceQuery, 'dateFrom' | 'dateTo'>,
  seen: { oldest: string | null; newest: string | null },
): Coverage | null {
  const from = dateFrom === null ? null : earlier(shifted(dateFrom, dateSlackMs), seen.oldest);
  const to = dateTo === null ? null : later(shifted(dateTo, -dateSlackMs), seen.newest);
  return from !== null && to !== null && from > to ? null : { from, to };
}

export function isCovered({ from, to }: Coverage, at: string): boolean {
  return (from === null || at >= from) && (to === null || at <= to);
}

/** The first and the last moment that the service's dates, and `isoInstant`, can say. */
const [firstMs, lastMs] = [Date.UTC(1000, 0), Date.UTC(10_000, 0) - 1];

/** UTC ISO 8601 with milliseconds; a bound beyond the years of four digits becomes the nearest within them. */
export function isoText(ms: number): string {
  return new Date(Math.min(Math.max(ms, firstMs), lastMs)).toISOString();
}

/** A moment in the form of `created_at_utc`, `byMs` milliseconds later. */
export function shifted(moment: string, byMs: number): string {
  const ms = isoInstant(moment);
  if (ms === null) throw new RangeError(`not a date-time: ${moment.slice(0, 40)}`);
  return isoText(ms + byMs);
}

function earlier(a: string | null, b: string | null): string {
  return a !== null && (b === null || a <= b) ? a : (b ?? '');
}

function later(a: string | null, b: string | null): string {
  return a !== null && (b === null || a >= b) ? a : (b ?? '');
}

/** A pass as its decisions see it. */
export interface PassOutline extends PassBounds {
  pass: ReadingKind;
  startedAt: string;
  /** Pages stored so far. */
  pages: number;
}

/** One query of a pass and what reading it has shown so far (reading.md). */
export interface PassSlice extends PlannedSlice {
  /** Counted from 1 in the order in which they were planned. */
  slice: number;
  /** `checking`: its last page may be requested again; `cut`: its cursor died, and another slice continues it. */
  outcome: 'planned' | 'reading' | 'checking' | 'read' | 'cut';
  /** Start of the reading: every entry it returns is stamped later. */
  startedAt: string | null;
  pages: number;
  entries: number;
  /** Entries that this reading had already seen: pages shifted, or another pass read them at the same time. */
  repeats: number;
  order: EntryOrder | null;
  oldestSeen: string | null;
  newestSeen: string | null;
  /** How far it was read (`reachOf`). */
  reached: string | null;
  /** Where entries without a date were: before all others, elsewhere, or not met yet. */
  undatedPlace: 'first' | 'elsewhere' | null;
  /** Set when the slice continues another: its first page must contain an entry at this moment or beyond. */
  joinsAt: string | null;
  slackMs: number;
  /** Cursor of the request for the last page, and the digest of that page's ids. */
  lastCursor: string | null;
  lastDigest: string | null;
  /** Pages in a row that brought nothing new. */
  barrenPages: number;
}

/** A slice that continues another one whose cursor died. */
export interface ResumedSlice extends PlannedSlice, Pick<PassSlice, 'order' | 'joinsAt' | 'slackMs'> {}

/** The service returned a cursor or a page a second time within a slice: following it would never end. */
export class RepeatedCursor extends Error {
  override readonly name = 'RepeatedCursor';
}

/** A slice by date does not join the slice it continues: entries between them may be missing. */
export class GapInDates extends Error {
  override readonly name = 'GapInDates';
}

/** A cursor died and nothing shows where to continue. */
export class CannotResume extends Error {
  override readonly name = 'CannotResume';
}
