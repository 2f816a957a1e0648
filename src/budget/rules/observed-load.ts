import { isoInstant } from '../../rules/iso-instant.ts';
import { defaultOverlapMs } from '../../feedback/rules/pass-bounds.ts';
import type { PassKind } from '../../feedback/rules/pass-kind.ts';
import type { RunCost } from './staleness.ts';

const dayMs = 86_400_000;
const entriesAPage = 100;

/** Days over which new entries are counted. */
export const observedDays = 28;
/** Assumed new entries per day when nothing is known of any project of the organization. */
const assumedPerDay = 10;
export const assumedEntries = 1_000;

/** A pass that completed. */
export interface ObservedRun {
  /** UTC ISO 8601. */
  startedAt: string;
  requests: number;
}

/** Activity of a project according to the feedback store. */
export interface ProjectActivity {
  /** Without tombstones. */
  entries: number;
  /** Those with the status `pending` or `in_progress`. */
  open: number;
  /** When the last completed incremental pass or sweep began, UTC ISO 8601; null when there was none. */
  readUpTo: string | null;
  /** The earliest date of an entry, UTC ISO 8601; null without a readable date. */
  oldest: string | null;
  /** Entries of the `observedDays` before `readUpTo`, tombstones included. */
  recent: number;
  /** Passes without bounds set by a person, newest first. */
  runs: { readonly [Pass in PassKind]: readonly ObservedRun[] };
}

export interface EntryRate {
  /** New entries a day. */
  perDay: number;
  /** Days over which they were counted. */
  days: number;
}

/**
 * Observed new entries per day; null when no pass has completed or no entry has a date. Half an entry is added (the mean
 * under Jeffreys' prior for a Poisson rate), so that a quiet month does not mean a rate of zero.
 */
export function entryRate({ readUpTo, oldest, recent }: ProjectActivity): EntryRate | null {
  const until = readUpTo === null ? null : isoInstant(readUpTo);
  const since = oldest === null ? null : isoInstant(oldest);
  if (until === null || since === null) return null;
  const days = Math.min(observedDays, Math.max(1, (until - since) / dayMs));
  return { perDay: (recent + 0.5) / days, days };
}

/** New entries per day of projects without observations: the mean of the others. */
export function typicalPerDay(rates: readonly (EntryRate | null)[]): number {
  const observed = rates.flatMap((rate) => (rate === null ? [] : [rate.perDay]));
  return observed.length === 0 ? assumedPerDay : observed.reduce((sum, perDay) => sum + perDay, 0) / observed.length;
}

/**
 * The cost of a run, and the number of runs it is based on. An incremental pass reads what came in since the previous run
 * plus the overlap; the others read what there is. Observed runs count with their mean: all given ones of incremental
 * passes and reviews, the last one of sweeps, since they only grow.
 */
export function runCost(
  pass: PassKind,
  activity: ProjectActivity | null,
  perDay: number,
  everyMs: number,
): { cost: RunCost; runs: number } {
  const { entries, open, readUpTo, runs: seen } = activity ?? unknown;
  const all = seen[pass];
  const runs = pass === 'sweep' ? all.slice(0, 1) : all;
  const observed = runs.reduce((sum, { requests }) => sum + requests, 0) / Math.max(1, runs.length);
  const never = runs.length === 0;
  if (pass === 'sweep') {
    const stored = pages(readUpTo === null ? Math.max(assumedEntries, entries) : entries);
    return { cost: { fixed: Math.max(stored, observed), perMs: 0 }, runs: runs.length };
  }
  if (pass === 'review') {
    return { cost: { fixed: Math.max(1, never ? pages(open) : observed), perMs: 0 }, runs: runs.length };
  }
  const perMs = perDay / dayMs / entriesAPage;
  // The last page of a run is half full on average.
  const overlap = perMs * defaultOverlapMs + 0.5;
  const fixed = never ? overlap : observed - perMs * meanGap(all, everyMs);
  return { cost: { fixed: Math.max(1, fixed), perMs }, runs: runs.length };
}

const unknown: Pick<ProjectActivity, 'entries' | 'open' | 'readUpTo' | 'runs'> = {
  entries: 0,
  open: 0,
  readUpTo: null,
  runs: { incremental: [], review: [], sweep: [] },
};

function pages(entries: number): number {
  return Math.max(1, Math.ceil(entries / entriesAPage));
}

/** The mean time between runs, at most their interval. */
function meanGap(runs: readonly ObservedRun[], everyMs: number): number {
  const first = isoInstant(runs.at(-1)?.startedAt ?? '');
  const last = isoInstant(runs[0]?.startedAt ?? '');
  return first === null || last === null || runs.length < 2
    ? everyMs
    : Math.min(everyMs, (last - first) / (runs.length - 1));
}
