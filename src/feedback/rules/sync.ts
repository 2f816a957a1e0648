import { z } from 'zod/mini';
import type { Forecast, WaitReason } from '../../budget/rules/permits.ts';
import { own, reader, text, writing } from '../../rules/messages.ts';
import { isoInstant } from '../../rules/text.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';
import type { EntryCounts } from './feedback-entry.ts';

/** What a sync pass reads (S4). */
export const passKinds = ['incremental', 'review', 'sweep'] as const;
export type PassKind = (typeof passKinds)[number];

/** Kinds of reading: `refresh` reads pages that a queue chooses (`rules/refresh`). */
export type ReadingKind = PassKind | 'refresh';

/** How a pass ends, and that it has not. */
export const passOutcomes = ['running', 'completed', 'failed', 'cancelled'] as const;
export type PassOutcome = (typeof passOutcomes)[number];

/** In milliseconds: a service may take a date-time for its date, in its own zone, and entries may appear late. */
const overlapMs = 24 * 3_600_000;

interface PassBoundsInput {
  pass: PassKind;
  /** UTC ISO 8601, from the store; null when no pass has completed yet. */
  watermark: string | null;
  /** Bounds given by a person, checked by `boundsProblem`: they replace the planned ones. */
  from?: string;
  to?: string;
}

/** UTC ISO 8601 with `Z`, so that no service must guess a time zone; null for no bound. */
export interface PassBounds {
  dateFrom: string | null;
  /** Exclusive. */
  dateTo: string | null;
}

/**
 * The bounds of a pass (S4), and why in short words: a sweep has none; an incremental one begins at the watermark less the
 * overlap.
 */
export function boundsOfPass({ pass, watermark, from, to }: PassBoundsInput): PassBounds & { reason: string } {
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
  return { dateFrom, dateTo, reason: `from the watermark ${watermark} less 24 h${until}` };
}

/** What is wrong with a pass's bounds. */
interface BoundsProblem {
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
  return { field: 'to', held: to, problem: `must be later than ${from}, where the range begins: its end is exclusive` };
}

function bound(text: string | undefined): string | null {
  if (text === undefined) return null;
  const ms = isoInstant(text);
  if (ms === null) throw new RangeError(`not a date-time: ${text.slice(0, 40)}`);
  return new Date(ms).toISOString();
}

/** A range of dates, and the moment up to which its stored entries are complete. A project's ranges leave no gap. */
export interface VerifiedRange {
  /** Included; null: from the beginning of time. */
  from: string | null;
  /** Excluded; null: to the end of time. */
  to: string | null;
  /** Start of the latest reading that showed it complete; null when none has. */
  verifiedUpTo: string | null;
}

/** More are merged, the older moment standing for both. */
const mostRanges = 200;

/** A project without any complete range. */
export const unverified: readonly VerifiedRange[] = [{ from: null, to: null, verifiedUpTo: null }];

/** The ranges after a reading begun at `at` that showed everything from `from` to before `to` (S4). */
export function markVerified(
  ranges: readonly VerifiedRange[],
  { from, to, at }: { from: string | null; to: string | null; at: string },
): VerifiedRange[] {
  if (from !== null && to !== null && from >= to) return [...ranges];
  const marked = ranges.flatMap((range) => {
    const split: VerifiedRange[] = [];
    const start = from === null || (range.from !== null && range.from > from) ? range.from : from;
    const end = to === null || (range.to !== null && range.to < to) ? range.to : to;
    if (start !== null && end !== null && start >= end) return [range];
    if (start !== range.from) split.push({ ...range, to: start });
    const newer = range.verifiedUpTo === null || range.verifiedUpTo < at ? at : range.verifiedUpTo;
    split.push({ from: start, to: end, verifiedUpTo: newer });
    if (end !== range.to) split.push({ ...range, from: end });
    return split;
  });
  return merged(marked);
}

/** The moment up to which all ranges are complete; null while one is not. */
export function leastVerified(ranges: readonly Pick<VerifiedRange, 'verifiedUpTo'>[]): string | null {
  let least: string | null = null;
  for (const { verifiedUpTo } of ranges) {
    if (verifiedUpTo === null) return null;
    if (least === null || verifiedUpTo < least) least = verifiedUpTo;
  }
  return least;
}

function merged(ranges: readonly VerifiedRange[]): VerifiedRange[] {
  const joined: VerifiedRange[] = [];
  for (const range of ranges) {
    const before = joined.at(-1);
    if (before !== undefined && before.verifiedUpTo === range.verifiedUpTo) before.to = range.to;
    else joined.push({ ...range });
  }
  while (joined.length > mostRanges) joined.splice(0, 2, older(joined[0], joined[1]));
  return joined;
}

function older(a: VerifiedRange | undefined, b: VerifiedRange | undefined): VerifiedRange {
  if (a === undefined || b === undefined) throw new RangeError('two ranges are needed');
  return { from: a.from, to: b.to, verifiedUpTo: leastVerified([a, b]) };
}

export interface SyncInput extends WithFailover {
  org: string;
  project: string;
  pass: PassKind;
  /** Bounds given by a person: ISO 8601 date-time or date. */
  from?: string;
  to?: string;
  /** Set by continue-as-new only. */
  carried?: CarriedSync;
}

/** What a pass has done so far; counts only, the position is in the store. */
export interface SyncProgress {
  passId: string;
  /** Identity of the store the pass writes to. */
  storeId: string;
  pages: number;
  requests: number;
  throttled: number;
  waitedMs: number;
  entries: EntryCounts;
}

export interface CarriedSync extends SyncProgress {
  /** Failed tries of the next page. */
  tries: number;
  /** Signals that made no sense. */
  ignored?: number;
}

/** Result of `syncFeedback` (contracts.md, `feedback sync --wait`). */
export interface SyncResult extends Omit<SyncProgress, 'passId' | 'storeId'> {
  workflowId: string;
  runId: string;
  org: string;
  project: string;
  pass: PassKind;
  watermark: string | null;
  verifiedUpTo: string | null;
}

/** Answer of the query `state`. */
export interface SyncState {
  org: string;
  project: string;
  pass: PassKind;
  /** `unauthorized`: the service refuses the key, and the pass waits until it works. */
  phase: 'starting' | 'reading' | 'waiting-for-budget' | 'unauthorized' | 'done';
  progress: SyncProgress | null;
  /** Set while waiting for the budget: until when, in milliseconds since the epoch, behind whom, and why. */
  waiting: { until: number; place: number; behind: string[]; reason: WaitReason } | null;
  /** When the pass is expected to be done; null when that is unknown. */
  forecast: Forecast | null;
  /** Signals that made no sense. */
  ignored: number;
}

/** Shape of the input of `syncFeedback` (X5). */
export const readSyncInput = reader<SyncInput>(
  z.object({
    org: text(),
    project: text(),
    pass: z.enum(passKinds),
    from: z.exactOptional(writing()),
    to: z.exactOptional(writing()),
    failover: own<SyncInput['failover']>(),
    carried: own<SyncInput['carried']>(),
  }),
);

/** How an organization's feedback is kept fresh, as the worker's configuration says. */
export interface RefreshSettings {
  /** Time between two runs, in milliseconds. */
  everyMs: number;
  /** The part of what reserve and other clients leave that refresh may use: above 0, at most 1. */
  share: number;
  /** Every project of the organization. */
  projects: readonly RefreshedProject[];
}

export interface RefreshedProject {
  project: string;
  /** How much its changes count beside those of other projects; 1 by default. */
  weight: number;
  /** The deadline for new entries, in milliseconds; null for none. */
  atMostMs: number | null;
}

/** The part of an organization's configuration that decides how its projects are read. */
export interface ConfiguredRefresh {
  id: string;
  refresh?: { everyMs: number; share: number };
  projects: readonly { id: string; weight?: number; atMostMs?: number }[];
}

export const refreshedProjects = ({ projects }: ConfiguredRefresh): RefreshedProject[] =>
  projects.map(({ id, weight = 1, atMostMs = null }) => ({ project: id, weight, atMostMs }));

export interface RefreshInput extends WithFailover {
  org: string;
  /** Set by continue-as-new only. */
  carried?: CarriedRefresh;
}

/** What a run found in one project; counts only. */
export interface ProjectFindings extends Pick<EntryCounts, 'inserted' | 'updated' | 'tombstoned' | 'rejected'> {
  project: string;
  /** Type and message of what kept pages from being read, without content; null when all were. */
  problem: string | null;
}

/** What a run has done so far. */
export interface RefreshProgress extends Omit<SyncProgress, 'passId'> {
  /** Projects in which it found something: at most `mostNamed` of them, in the order of their first finding. */
  projects: ProjectFindings[];
  /** Further projects with findings. */
  others: number;
}

interface CarriedRefresh extends RefreshProgress {
  /** When the first of these runs began, in milliseconds. */
  startedAt: number;
  /** Signals that made no sense. */
  ignored?: number;
}

/** The most projects that a run's result names, so that it stays below 4 KiB. */
export const mostNamed = 20;

export interface RefreshResult extends Omit<RefreshProgress, 'storeId'> {
  workflowId: string;
  runId: string;
  org: string;
  /** When the next request is due, in milliseconds since the epoch. */
  nextDueAt: number;
}

/** Answer of the query `state`. */
export interface RefreshState extends Pick<SyncState, 'phase' | 'waiting' | 'ignored'> {
  org: string;
  progress: RefreshProgress | null;
}

/** Shape of the input of `refreshFeedback` (X5): a person may have edited the schedule. */
export const readRefreshInput = reader<RefreshInput>(
  z.object({ org: text(), failover: own<RefreshInput['failover']>(), carried: own<RefreshInput['carried']>() }),
);
