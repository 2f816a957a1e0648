import { type ConfiguredTimes, desiredSchedules } from '../schedule/desired-schedules.ts';
import { scheduledStarts } from '../schedule/scheduled-starts.ts';
import type { PassKind } from '../sync/pass-kind.ts';
import { forecastBudget } from './budget-forecast.ts';
import { longestEveryMs, type RunCost } from './staleness.ts';

/** A schedule of the configuration, with what its runs cost. */
export interface ScheduledPass {
  project: string;
  pass: PassKind;
  times: ConfiguredTimes;
  cost: RunCost;
  /** New entries a day of the project. */
  newPerDay: number;
}

/** What one schedule does beside the others. */
export interface PassOutlook {
  /** In `horizonMs`. */
  starts: number;
  /** Requests a run, on average. */
  requestsPerRun: number;
  /** Requests a window of the budget, on average. */
  perWindow: number;
  /** Mean time in milliseconds until what the pass looks for is in the store; null when its runs do not come to an end. */
  stalenessMs: number | null;
  /** The longest run in milliseconds, waiting for the budget included. */
  longestRunMs: number;
  /** Starts left out because the run before had not ended. */
  skipped: number;
}

export interface ScheduleOutlook {
  /** Requests asked for in a window, on average. */
  perWindow: number;
  /** The window in which most are asked for; null when nothing starts. */
  fullest: { fromMs: number; requests: number } | null;
  /**
   * Mean time in milliseconds until a new entry is in the store, over all entries of the projects with incremental
   * passes; null without any, or when those of one do not come to an end.
   */
  stalenessMs: number | null;
  /** In the order of the schedules given. */
  passes: PassOutlook[];
}

export interface OutlookOptions {
  /** With the organization part of the schedules' ids, by whose hash equal intervals are spread. */
  taskQueue: string;
  org: string;
  /** Requests a window that are ours. */
  available: number;
  windowMs: number;
  /** The schedules are played from here on, in milliseconds since the epoch, for `horizonMs`. */
  fromMs: number;
  horizonMs: number;
}

const ranks: Readonly<Record<PassKind, number>> = { incremental: 0, review: 1, sweep: 2 };

/** Plays schedules through the budget, each at the offset that it has on the server. */
export function scheduleOutlook(scheduled: readonly ScheduledPass[], options: OutlookOptions): ScheduleOutlook {
  const { available, windowMs, fromMs, horizonMs } = options;
  const untilMs = fromMs + horizonMs;
  const played = scheduled.map((pass) => {
    const starts = startsOf(pass, options);
    const everyMs = meanInterval(pass, starts.length, options);
    return { starts, everyMs, requests: pass.cost.fixed + pass.cost.perMs * everyMs, rank: ranks[pass.pass] };
  });
  const forecast = forecastBudget(played, { limit: available, windowMs, untilMs });
  const passes = played.map(({ starts, everyMs, requests }, index): PassOutlook => {
    const seen = forecast.passes[index];
    return {
      starts: starts.length,
      requestsPerRun: requests,
      perWindow: (requests * windowMs) / everyMs,
      // Two runs that ended are needed to see it; of what starts that rarely, half of the interval says it.
      stalenessMs: seen?.stalenessMs ?? (starts.length < 3 ? everyMs / 2 : null),
      longestRunMs: seen?.longestMs ?? 0,
      skipped: seen?.skipped ?? 0,
    };
  });
  return {
    perWindow: passes.reduce((sum, { perWindow }) => sum + perWindow, 0),
    fullest: forecast.fullest,
    stalenessMs: entryStaleness(scheduled, passes),
    passes,
  };
}

function startsOf({ project, pass, times }: ScheduledPass, options: OutlookOptions): number[] {
  const { taskQueue, org, fromMs, horizonMs } = options;
  const [schedule] = desiredSchedules(taskQueue, [{ id: org, sites: [], projects: [{ id: project, [pass]: times }] }]);
  return schedule ? scheduledStarts(schedule.settings, fromMs, fromMs + horizonMs) : [];
}

/** Of cron times that are rarer than what is played, over a year. */
function meanInterval(pass: ScheduledPass, starts: number, options: OutlookOptions): number {
  if (pass.times.everyMs !== undefined) return pass.times.everyMs;
  if (starts > 1) return options.horizonMs / starts;
  return longestEveryMs / Math.max(1, startsOf(pass, { ...options, horizonMs: longestEveryMs }).length);
}

function entryStaleness(scheduled: readonly ScheduledPass[], passes: readonly PassOutlook[]): number | null {
  let entries = 0;
  let waited = 0;
  for (const [index, { pass, newPerDay }] of scheduled.entries()) {
    if (pass !== 'incremental') continue;
    const stalenessMs = passes[index]?.stalenessMs ?? null;
    if (stalenessMs === null) return null;
    entries += newPerDay;
    waited += newPerDay * stalenessMs;
  }
  return entries === 0 ? null : waited / entries;
}
