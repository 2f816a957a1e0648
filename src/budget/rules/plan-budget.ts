import { defaultOverlapMs, type PassKind } from '../../feedback/rules/pass-bounds.ts';
import { isoInstant } from '../../rules/text.ts';
import type { ConfiguredTimes } from '../../schedules/rules/desired-schedules.ts';
import {
  freshestIntervals,
  longestEveryMs,
  type PassOutlook,
  type Refreshed,
  type RunCost,
  requestRate,
  roundedUp,
  type ScheduledPass,
  type ScheduleOutlook,
  scheduleOutlook,
} from './budget-forecast.ts';

/** An organization whose passes have schedules. */
export interface ConfiguredOrganization {
  id: string;
  sites?: readonly unknown[];
  projects: readonly ({ id: string } & { [Pass in PassKind]?: ConfiguredTimes })[];
}

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

interface EntryRate {
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

/** Share of the available requests that is planned; the rest is for syncs on demand, retries and coinciding runs. */
export const plannedShare = 0.8;
/** The shortest interval proposed for an incremental pass, unless a shorter one is configured. */
export const shortestProposedMs = 5 * 60_000;

interface ProposedIntervals {
  /** In milliseconds, in the order of the schedules; null for cron. Null as a whole when no intervals fit. */
  intervals: (number | null)[] | null;
  /** What needs too much for any intervals to fit. */
  hopeless: 'cron' | 'entries' | null;
}

interface Timed {
  index: number;
  pass: ScheduledPass;
  everyMs: number;
}

/**
 * The intervals, rounded up, that bring new entries into the store soonest for `available` requests per millisecond;
 * `rate` is a schedule's present demand in requests per millisecond. Cron schedules stay. Reviews and sweeps stay too,
 * unless the total demand exceeds the budget: then they stretch to half of the plan, the expensive ones most, and never
 * shrink. Incremental passes share the rest; while all fits, none runs less often than configured. The plan uses 80 % of
 * the available requests, or the present demand if that is more and fits.
 */
function proposeIntervals(
  schedules: readonly (ScheduledPass & { rate: number })[],
  available: number,
): ProposedIntervals {
  const today = schedules.reduce((sum, { rate }) => sum + rate, 0);
  const fits = today <= available;
  const cron = schedules.reduce((sum, { times, rate }) => (times.everyMs === undefined ? sum + rate : sum), 0);
  const planned = Math.max(plannedShare * available, fits ? today : 0) - cron;
  const timed = schedules.flatMap((pass, index): Timed[] => {
    const { everyMs } = pass.times;
    return everyMs === undefined ? [] : [{ index, pass, everyMs }];
  });
  if (planned < 0 || (planned === 0 && timed.length > 0)) return { intervals: null, hopeless: 'cron' };
  const fresh = timed.filter(({ pass }) => pass.pass === 'incremental');
  const kept = timed.filter(({ pass }) => pass.pass !== 'incremental');
  const steady = fits ? kept : stretched(kept, fresh.length === 0 ? planned : planned / 2);
  const soonest = freshestIntervals(
    fresh.map((timed) => asNewEntries(timed, fits)),
    planned - loadOf(steady),
  );
  if (soonest === null) return { intervals: null, hopeless: 'entries' };
  const found = new Map(steady.map(({ index, everyMs }) => [index, everyMs]));
  for (const [nth, { index, everyMs }] of fresh.entries()) {
    const wantedMs = soonest[nth] ?? everyMs;
    found.set(index, fits ? Math.min(everyMs, roundedUp(wantedMs)) : roundedUp(wantedMs));
  }
  return { intervals: schedules.map((_, index) => found.get(index) ?? null), hopeless: null };
}

function asNewEntries({ pass, everyMs }: Timed, fits: boolean): Refreshed {
  const shortestMs = Math.min(shortestProposedMs, everyMs);
  return { cost: pass.cost, weight: pass.newPerDay, shortestMs, longestMs: fits ? everyMs : longestEveryMs };
}

/** Unchanged if they cost at most `budget`, else longer. */
function stretched(kept: readonly Timed[], budget: number): Timed[] {
  if (loadOf(kept) <= budget) return [...kept];
  const longer = freshestIntervals(
    kept.map(({ pass, everyMs }) => ({ cost: pass.cost, weight: 1, shortestMs: everyMs, longestMs: longestEveryMs })),
    budget,
  );
  return kept.map((timed, nth) => {
    const everyMs = longer?.[nth] ?? timed.everyMs;
    return everyMs > timed.everyMs ? { ...timed, everyMs: roundedUp(everyMs) } : timed;
  });
}

function loadOf(timed: readonly Timed[]): number {
  return requestRate(timed.map(({ pass, everyMs }) => ({ cost: pass.cost, everyMs })));
}

const longestHorizonMs = 28 * dayMs;
/** Limits the work when schedules are many or very frequent. */
const mostStarts = 200_000;
/** Intervals that fit are changed only if new entries reach the store this much sooner. */
const worthwhile = 0.95;
const kinds: readonly PassKind[] = ['incremental', 'review', 'sweep'];

interface BudgetPlanInput {
  /** Part of the hash that spreads equal intervals. */
  taskQueue: string;
  organization: ConfiguredOrganization;
  budget: { requests: number; reserve: number; windowMs: number };
  /** By project; absent for projects never read. */
  activity: ReadonlyMap<string, ProjectActivity>;
  /** Begin of the simulation, in milliseconds since the epoch. */
  fromMs: number;
}

export interface PlannedProject {
  project: string;
  entries: number;
  newPerDay: number;
  /** Days over which the rate was counted; null when it is assumed. */
  observedDays: number | null;
}

export interface PlannedPass extends Omit<ScheduledPass, 'cost' | 'newPerDay'> {
  /** Completed runs its cost is based on; 0 when it is assumed. */
  observedRuns: number;
  now: PassOutlook;
  /** Null without a proposal. */
  proposed: PassOutlook | null;
  /** The proposed interval in milliseconds; null for cron and without a proposal. */
  proposedEveryMs: number | null;
}

export interface BudgetPlan {
  /** Requests per window for docferry: limit less reserve. */
  available: number;
  windowMs: number;
  /** Length of the simulation in milliseconds. */
  horizonMs: number;
  /** `waits`: the budget suffices on average, but not in every window. */
  verdict: 'nothing-scheduled' | 'suffices' | 'waits' | 'exceeds';
  projects: PlannedProject[];
  passes: PlannedPass[];
  now: Omit<ScheduleOutlook, 'passes'>;
  /** Null when the schedules may stay as they are, or no intervals fit. */
  proposed: Omit<ScheduleOutlook, 'passes'> | null;
  /** Why no intervals fit: the cron schedules, or the new entries alone, need too much. */
  hopeless: 'cron' | 'entries' | null;
}

/**
 * Whether the schedules of an organization fit its budget, and the intervals that bring new entries into the store
 * soonest (budget-plan.md). Figures that were never observed are assumed, and marked as assumed.
 */
export function planBudget(input: BudgetPlanInput): BudgetPlan {
  const { taskQueue, organization, activity, fromMs } = input;
  const { requests, reserve, windowMs } = input.budget;
  const available = Math.max(1, requests - reserve);
  const projects = plannedProjects(input);
  const configured = projects.flatMap(({ project, newPerDay }) =>
    scheduledPasses(organization, project, activity.get(project) ?? null, newPerDay),
  );
  const horizonMs = horizonOf(configured);
  const options = { taskQueue, org: organization.id, available, windowMs, fromMs, horizonMs };
  const now = scheduleOutlook(configured, options);
  const { intervals, hopeless } = proposeIntervals(
    configured.map((pass, index) => ({ ...pass, rate: (now.passes[index]?.perWindow ?? 0) / windowMs })),
    available / windowMs,
  );
  const wanted = configured.map((pass, index) => withInterval(pass, intervals?.[index] ?? null));
  const later = intervals === null ? null : scheduleOutlook(wanted, options);
  const proposed = later !== null && (now.perWindow > available || isWorthwhile(now, later)) ? later : null;
  const passes = configured.flatMap(({ project, pass, times, observedRuns }, index): PlannedPass[] => {
    const today = now.passes[index];
    const everyMs = proposed === null ? null : (wanted[index]?.times.everyMs ?? null);
    if (today === undefined) return [];
    const then = proposed?.passes[index] ?? null;
    return [{ project, pass, times, observedRuns, now: today, proposed: then, proposedEveryMs: everyMs }];
  });
  const verdict = verdictOf(now, available);
  return {
    available,
    windowMs,
    horizonMs,
    verdict,
    projects,
    passes,
    now: withoutPasses(now),
    proposed: proposed && withoutPasses(proposed),
    hopeless,
  };
}

function plannedProjects({ organization, activity }: BudgetPlanInput): PlannedProject[] {
  const seen = organization.projects.map(({ id }) => {
    const known = activity.get(id);
    return { project: id, entries: known?.entries ?? 0, rate: known ? entryRate(known) : null };
  });
  const typical = typicalPerDay(seen.map(({ rate }) => rate));
  return seen.map(({ project, entries, rate }) => ({
    project,
    entries,
    newPerDay: rate?.perDay ?? typical,
    observedDays: rate?.days ?? null,
  }));
}

function scheduledPasses(
  { projects }: ConfiguredOrganization,
  project: string,
  activity: ProjectActivity | null,
  newPerDay: number,
): (ScheduledPass & { observedRuns: number })[] {
  const schedules = projects.find(({ id }) => id === project);
  return kinds.flatMap((pass) => {
    const times = schedules?.[pass];
    if (times === undefined) return [];
    const { cost, runs } = runCost(pass, activity, newPerDay, times.everyMs ?? dayMs);
    return [{ project, pass, times, cost, newPerDay, observedRuns: runs }];
  });
}

function horizonOf(passes: readonly ScheduledPass[]): number {
  const starts = passes.reduce((sum, { times }) => sum + 1 / (times.everyMs ?? dayMs), 0);
  return starts === 0 ? longestHorizonMs : Math.min(longestHorizonMs, Math.floor(mostStarts / starts));
}

function withInterval<Pass extends ScheduledPass>(pass: Pass, everyMs: number | null): Pass {
  const { times } = pass;
  return times.everyMs === undefined || everyMs === null ? pass : { ...pass, times: { ...times, everyMs } };
}

function isWorthwhile(now: ScheduleOutlook, later: ScheduleOutlook): boolean {
  if (later.stalenessMs === null) return false;
  return now.stalenessMs === null || later.stalenessMs < worthwhile * now.stalenessMs;
}

function verdictOf({ passes, perWindow, fullest }: ScheduleOutlook, available: number): BudgetPlan['verdict'] {
  if (passes.length === 0) return 'nothing-scheduled';
  if (perWindow > available) return 'exceeds';
  return fullest !== null && fullest.requests > available ? 'waits' : 'suffices';
}

function withoutPasses({ perWindow, fullest, stalenessMs }: ScheduleOutlook): BudgetPlan['now'] {
  return { perWindow, fullest, stalenessMs };
}
