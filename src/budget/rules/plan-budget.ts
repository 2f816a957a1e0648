import type { ConfiguredOrganization } from '../../schedules/rules/desired-schedules.ts';
import type { PassKind } from '../../feedback/rules/pass-kind.ts';
import { entryRate, type ProjectActivity, runCost, typicalPerDay } from './observed-load.ts';
import { proposeIntervals } from './proposed-intervals.ts';
import { type PassOutlook, type ScheduledPass, type ScheduleOutlook, scheduleOutlook } from './schedule-outlook.ts';

const dayMs = 86_400_000;
const longestHorizonMs = 28 * dayMs;
/** Limits the work when schedules are many or very frequent. */
const mostStarts = 200_000;
/** Intervals that fit are changed only if new entries reach the store this much sooner. */
const worthwhile = 0.95;
const kinds: readonly PassKind[] = ['incremental', 'review', 'sweep'];

export interface BudgetPlanInput {
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
