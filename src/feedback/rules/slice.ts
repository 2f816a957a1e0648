import { isoInstant } from '../../rules/iso-instant.ts';

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
 * - `again`: windows of all statuses, for what is still missing: the second reading;
 * - `wide`: the same with margins that no reading of the bounds can exceed.
 */
export type SliceStage = 'read' | 'open' | 'look' | 'undated' | 'again' | 'wide';

/** The filters of one query (service-interface.md, endpoint 1); null for no filter. */
export interface SliceQuery {
  /** UTC ISO 8601 with `Z`, so that no service must guess a time zone. */
  dateFrom: string | null;
  /** Exclusive. */
  dateTo: string | null;
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

/**
 * The moment up to which a page has come, on the safe side of a single odd date; null for a page without dates. UTC
 * ISO 8601 as in `created_at_utc`.
 */
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

/** Moments of which a complete reading tells for sure, both included; null for no bound. */
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

/** UTC ISO 8601 with milliseconds. */
export function isoText(ms: number): string {
  return new Date(ms).toISOString();
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
