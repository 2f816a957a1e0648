import { type ConfiguredTimes, desiredSchedules } from '../../schedules/rules/desired-schedules.ts';
import { scheduledStarts } from '../../schedules/rules/scheduled-starts.ts';
import type { PassKind } from '../../feedback/rules/pass-kind.ts';
import { forecastBudget } from './budget-forecast.ts';
import { longestEveryMs, type RunCost } from './staleness.ts';

/** A schedule of the configuration, with the cost of its runs. */
export interface ScheduledPass {
  project: string;
  pass: PassKind;
  times: ConfiguredTimes;
  cost: RunCost;
  /** New entries of the project per day. */
  newPerDay: number;
}

/** What one schedule does in competition with the others. */
export interface PassOutlook {
  /** In `horizonMs`. */
  starts: number;
  /** Mean requests per run. */
  requestsPerRun: number;
  /** Mean requests per window of the budget. */
  perWindow: number;
  /** Mean time in milliseconds until what the pass looks for is in the store; null when its runs do not end. */
  stalenessMs: number | null;
  /** The longest run in milliseconds, waiting for the budget included. */
  longestRunMs: number;
  /** Starts left out because the previous run had not ended. */
  skipped: number;
}

export interface ScheduleOutlook {
  /** Mean demand per window. */
  perWindow: number;
  /** The window with the most demand; null when nothing starts. */
  fullest: { fromMs: number; requests: number } | null;
  /**
   * Mean time in milliseconds until a new entry is in the store, over all entries of projects with incremental passes;
   * null without any, or when the runs of one do not end.
   */
  stalenessMs: number | null;
  /** In the order of the schedules given. */
  passes: PassOutlook[];
}

export interface OutlookOptions {
  /** Part of the schedules' ids, as is `org`; their hash spreads equal intervals. */
  taskQueue: string;
  org: string;
  /** Requests per window for docferry. */
  available: number;
  windowMs: number;
  /** Begin of the simulation in milliseconds since the epoch; it lasts `horizonMs`. */
  fromMs: number;
  horizonMs: number;
}

const ranks: Readonly<Record<PassKind, number>> = { incremental: 0, review: 1, sweep: 2 };

/** Simulates schedules in the budget, each with its offset on the server. */
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
      // It takes two complete runs to see it; for rarer ones, half of the interval is a good estimate.
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

/** Cron times rarer than the simulation are counted over a year. */
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
