import type { ConfiguredOrganization } from '../schedule/desired-schedules.ts';
import type { PassKind } from '../sync/pass-kind.ts';
import { entryRate, type ProjectActivity, runCost, typicalPerDay } from './observed-load.ts';
import { proposeIntervals } from './proposed-intervals.ts';
import { type PassOutlook, type ScheduledPass, type ScheduleOutlook, scheduleOutlook } from './schedule-outlook.ts';

const dayMs = 86_400_000;
const longestHorizonMs = 28 * dayMs;
/** Bounds the work where very much is scheduled, or every few seconds. */
const mostStarts = 200_000;
/** Intervals that fit are left alone unless new entries would be in the store this much sooner. */
const worthwhile = 0.95;
const kinds: readonly PassKind[] = ['incremental', 'review', 'sweep'];

export interface BudgetPlanInput {
  /** Its name is part of what spreads equal intervals. */
  taskQueue: string;
  organization: ConfiguredOrganization;
  budget: { requests: number; reserve: number; windowMs: number };
  /** By project; what is absent was never seen. */
  activity: ReadonlyMap<string, ProjectActivity>;
  /** From when on the schedules are played, in milliseconds since the epoch. */
  fromMs: number;
}

export interface PlannedProject {
  project: string;
  entries: number;
  newPerDay: number;
  /** Days the rate was counted over; null when it is assumed. */
  observedDays: number | null;
}

export interface PlannedPass extends Omit<ScheduledPass, 'cost' | 'newPerDay'> {
  /** Completed runs in which its cost was observed; 0 when it is assumed. */
  observedRuns: number;
  now: PassOutlook;
  /** Null where nothing is proposed. */
  proposed: PassOutlook | null;
  /** The interval of the proposal in milliseconds; null for cron, and where nothing is proposed. */
  proposedEveryMs: number | null;
}

export interface BudgetPlan {
  /** Requests a window that are ours: limit less reserve. */
  available: number;
  windowMs: number;
  /** For how long the schedules were played, in milliseconds. */
  horizonMs: number;
  /** `waits`: enough on average, but in some window more is asked for than there is. */
  verdict: 'nothing-scheduled' | 'suffices' | 'waits' | 'exceeds';
  projects: PlannedProject[];
  passes: PlannedPass[];
  now: Omit<ScheduleOutlook, 'passes'>;
  /** Null where the schedules may stay as they are, or nothing helps. */
  proposed: Omit<ScheduleOutlook, 'passes'> | null;
  /** Why no intervals fit: the cron schedules, or the new entries alone, take too much. */
  hopeless: 'cron' | 'entries' | null;
}

/**
 * Whether the schedules of an organization fit its budget, and the intervals that bring new entries into the store
 * soonest (docs/budget-plan.md). Total: what was never observed is assumed and marked so.
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
    now: whole(now),
    proposed: whole(proposed),
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

function whole(outlook: ScheduleOutlook): BudgetPlan['now'];
function whole(outlook: ScheduleOutlook | null): BudgetPlan['proposed'];
function whole(outlook: ScheduleOutlook | null): BudgetPlan['proposed'] {
  if (outlook === null) return null;
  const { perWindow, fullest, stalenessMs } = outlook;
  return { perWindow, fullest, stalenessMs };
}
