import { isoInstant } from '../../rules/iso-instant.ts';
import type { PassKind } from './pass-kind.ts';

/**
 * How far an incremental pass reads back before the watermark, in milliseconds: a service may take a date-time for its
 * date, in its own time zone, and entries may appear late.
 */
export const defaultOverlapMs = 24 * 3_600_000;

export interface PassBoundsInput {
  pass: PassKind;
  /** UTC ISO 8601, from the store; null when no pass has completed yet. */
  watermark: string | null;
  overlapMs?: number;
  /** Bounds given by a person, checked by `boundsProblem`: they replace the planned ones. */
  from?: string;
  to?: string;
}

export interface PassRange {
  /** UTC ISO 8601 with `Z`, so that no service must guess a time zone; null for no bound. */
  dateFrom: string | null;
  /** Exclusive. */
  dateTo: string | null;
  /** Short words for people. */
  reason: string;
}

/**
 * The date bounds of a pass (S4): a sweep has none; an incremental one begins at the watermark less the overlap,
 * or has none while there is no watermark.
 */
export function boundsOfPass({ pass, watermark, overlapMs = defaultOverlapMs, from, to }: PassBoundsInput): PassRange {
  const dateTo = bound(to);
  const until = dateTo === null ? '' : `, before ${dateTo}`;
  if (from !== undefined) {
    const dateFrom = bound(from);
    return { dateFrom, dateTo, reason: `from ${dateFrom} as asked${until}` };
  }
  if (pass !== 'incremental') return { dateFrom: null, dateTo, reason: `everything${until}` };
  const watermarkMs = watermark === null ? null : isoInstant(watermark);
  if (watermarkMs === null) return { dateFrom: null, dateTo, reason: `everything${until}: no pass has completed yet` };
  const dateFrom = new Date(watermarkMs - overlapMs).toISOString();
  if (dateTo !== null && dateTo <= dateFrom) {
    return { dateFrom: null, dateTo, reason: `everything${until}: the watermark is later` };
  }
  return { dateFrom, dateTo, reason: `from the watermark ${watermark} less ${overlapMs / 3_600_000} h${until}` };
}

/** What is wrong with a pass's bounds. */
export interface BoundsProblem {
  field: 'from' | 'to';
  /** The text of the field. */
  held: string;
  /** What is allowed. */
  problem: string;
}

/** Checks bounds given by a person: ISO 8601 date-times or `YYYY-MM-DD`, `from` before `to`. Null when all is well. */
export function boundsProblem({ from, to }: { from?: string; to?: string }): BoundsProblem | null {
  const format = 'must be an ISO 8601 date-time or YYYY-MM-DD';
  if (from !== undefined && isoInstant(from) === null) return { field: 'from', held: from, problem: format };
  if (to !== undefined && isoInstant(to) === null) return { field: 'to', held: to, problem: format };
  if (from === undefined || to === undefined) return null;
  if ((isoInstant(from) ?? 0) < (isoInstant(to) ?? 0)) return null;
  return { field: 'to', held: to, problem: `must be later than from (${from}): the upper bound is exclusive` };
}

function bound(text: string | undefined): string | null {
  if (text === undefined) return null;
  const ms = isoInstant(text);
  if (ms === null) throw new RangeError(`not a date-time: ${text.slice(0, 40)}`);
  return new Date(ms).toISOString();
}
