import type { PassKind } from '../../feedback/rules/pass-bounds.ts';
import { scheduleId } from '../../rules/workflow-ids.ts';
import { type ConfiguredTimes, timesOf } from '../../schedules/rules/desired-schedules.ts';
import { scheduledStarts } from '../../schedules/rules/starts.ts';

/** A pass on its schedule. */
export interface ForecastPass {
  /** Milliseconds since the epoch, in order. */
  starts: readonly number[];
  /** Mean requests per run; more than 0. */
  requests: number;
  /** Lower ranks go first. */
  rank: number;
}

interface PassForecast {
  /** Runs that ended. */
  finished: number;
  /** Starts that were left out because the run before had not ended. */
  skipped: number;
  /** Longest time from a run's start to its last request, unfinished runs included. */
  longestMs: number;
  /** Mean time from an event to the last request of the first run begun after it; null with fewer than two runs. */
  stalenessMs: number | null;
}

interface BudgetForecast {
  /** The window with the most demand; null when nothing ever starts. */
  fullest: { fromMs: number; requests: number } | null;
  /** In the order of the passes given. */
  passes: PassForecast[];
}

interface Running {
  startedMs: number;
  /** When its first request was sent; null before. */
  readMs: number | null;
  left: number;
}

interface State extends ForecastPass {
  running: Running | null;
  /** When its last request was sent. */
  servedMs: number;
  /** When the run before began to read. */
  readBeforeMs: number | null;
  /** Fractions of requests that rounding has left over so far. */
  remainder: number;
  finished: number;
  skipped: number;
  longestMs: number;
  waited: number;
  covered: number;
}

/**
 * Simulates schedules in a sliding window of `limit` requests up to `untilMs`: requests are sent at once while slots are
 * free, by rank, in turn within a rank; a start is left out while the previous run lasts (B2, B3). Requests take no
 * time; leases and promotion by age are left out. Times in milliseconds.
 */
export function forecastBudget(
  passes: readonly ForecastPass[],
  { limit, windowMs, untilMs }: { limit: number; windowMs: number; untilMs: number },
): BudgetForecast {
  const states = passes.map(
    (pass): State => ({
      ...pass,
      running: null,
      servedMs: Number.NEGATIVE_INFINITY,
      readBeforeMs: null,
      remainder: 0,
      finished: 0,
      skipped: 0,
      longestMs: 0,
      waited: 0,
      covered: 0,
    }),
  );
  const starts = startsInOrder(states);
  const sentMs: number[] = [];
  let now = Number.NEGATIVE_INFINITY;
  for (let next = 0, sent = 0; ; sent += 1) {
    const begun = starts[next];
    if (begun && !states.some(({ running }) => running)) now = Math.max(now, begun.atMs);
    // A slot comes free one window after the request `limit` places earlier.
    now = Math.max(now, (sentMs[sent % limit] ?? Number.NEGATIVE_INFINITY) + windowMs);
    if (now >= untilMs) break;
    for (let start = starts[next]; start && start.atMs <= now; start = starts[next]) {
      begin(start.state, start.atMs);
      next += 1;
    }
    const state = firstInTurn(states);
    if (state === null) break;
    sentMs[sent % limit] = now;
    send(state, now);
  }
  return {
    fullest: fullestWindow(starts, windowMs),
    passes: states.map(({ running, finished, skipped, longestMs, waited, covered }) => ({
      finished,
      skipped,
      longestMs: Math.max(longestMs, running === null ? 0 : untilMs - running.startedMs),
      stalenessMs: covered === 0 ? null : waited / covered,
    })),
  };
}

interface Start {
  atMs: number;
  state: State;
}

function startsInOrder(states: readonly State[]): Start[] {
  return states
    .flatMap((state) => state.starts.map((atMs) => ({ atMs, state })))
    .sort((a, b) => a.atMs - b.atMs || a.state.rank - b.state.rank);
}

function begin(state: State, startedMs: number): void {
  if (state.running !== null) {
    state.skipped += 1;
    return;
  }
  const due = state.requests + state.remainder;
  const left = Math.max(1, Math.floor(due));
  state.remainder = Math.max(0, due - left);
  state.running = { startedMs, readMs: null, left };
}

function firstInTurn(states: readonly State[]): State | null {
  return states.reduce<State | null>((first, state) => {
    if (state.running === null) return first;
    if (first === null || state.rank < first.rank) return state;
    return state.rank === first.rank && state.servedMs < first.servedMs ? state : first;
  }, null);
}

function send(state: State, now: number): void {
  const { running } = state;
  if (running === null) return;
  state.servedMs = now;
  running.readMs ??= now;
  running.left -= 1;
  if (running.left > 0) return;
  // Events since the previous run began to read waited for half of that time on average, then for this run's end.
  const gap = running.readMs - (state.readBeforeMs ?? running.readMs);
  state.covered += gap;
  state.waited += gap * (gap / 2 + now - running.readMs);
  state.readBeforeMs = running.readMs;
  state.longestMs = Math.max(state.longestMs, now - running.startedMs);
  state.finished += 1;
  state.running = null;
}

/** It is enough to look at windows that begin with a start. */
function fullestWindow(starts: readonly Start[], windowMs: number): BudgetForecast['fullest'] {
  let fullest: BudgetForecast['fullest'] = null;
  let requests = 0;
  let end = 0;
  for (const { atMs, state } of starts) {
    for (let next = starts[end]; next && next.atMs < atMs + windowMs; next = starts[end]) {
      requests += next.state.requests;
      end += 1;
    }
    if (fullest === null || requests > fullest.requests + 1e-9) fullest = { fromMs: atMs, requests };
    requests -= state.requests;
  }
  return fullest;
}

/**
 * Cost of a pass in requests: `fixed` per run, and `perMs` per millisecond since the previous run for new entries. A pass
 * every T costs `fixed / T + perMs` per millisecond on average.
 */
export interface RunCost {
  /** More than 0. */
  fixed: number;
  perMs: number;
}

/** A pass that needs an interval. */
export interface Refreshed {
  cost: RunCost;
  /** Weight of its delay, e.g. new entries per day; more than 0. */
  weight: number;
  /** Shortest interval in milliseconds; more than 0. */
  shortestMs: number;
  /** Longest interval; at least `shortestMs`. */
  longestMs: number;
}

/** The longest interval that docferry.yaml accepts. */
export const longestEveryMs = 366 * 86_400_000;

/** Mean requests per millisecond of passes with these intervals. */
export function requestRate(passes: readonly { cost: RunCost; everyMs: number }[]): number {
  return passes.reduce((sum, { cost, everyMs }) => sum + cost.fixed / everyMs + cost.perMs, 0);
}

/** Mean time in milliseconds until an event is seen: a random event waits for half of the interval. Null without passes. */
export function meanStaleness(passes: readonly { weight: number; everyMs: number }[]): number | null {
  const weights = passes.reduce((sum, { weight }) => sum + weight, 0);
  return weights === 0 ? null : passes.reduce((sum, { weight, everyMs }) => sum + (weight * everyMs) / 2, 0) / weights;
}

/**
 * The intervals in milliseconds with the least `meanStaleness` that cost at most `budget` requests per millisecond; null
 * when even the longest cost more. Exact: T is proportional to √(fixed / weight) (Lagrange multiplier, budget-plan.md),
 * clamped to its bounds.
 */
export function freshestIntervals(passes: readonly Refreshed[], budget: number): number[] | null {
  const spendable = budget - passes.reduce((sum, { cost }) => sum + cost.perMs, 0);
  const shapes = passes.map(({ cost, weight, shortestMs, longestMs }) => {
    const root = Math.sqrt(cost.fixed / weight);
    return { fixed: cost.fixed, root, shortestMs, longestMs, from: shortestMs / root, to: longestMs / root };
  });
  const scale = scaleFor(shapes, spendable);
  return scale === null
    ? null
    : shapes.map(({ root, shortestMs, longestMs }) => Math.min(longestMs, Math.max(shortestMs, scale * root)));
}

/** The interval is `scale · root` for scales from `from` to `to`, and at a bound outside. */
interface Shape {
  fixed: number;
  root: number;
  shortestMs: number;
  longestMs: number;
  from: number;
  to: number;
}

/** The smallest scale at which the passes are affordable. The longer the intervals, the less they cost. */
function scaleFor(shapes: readonly Shape[], spendable: number): number | null {
  const corners = shapes.flatMap(({ from, to }) => [from, to]).sort((a, b) => a - b);
  let before = 0;
  for (const corner of corners) {
    let left = spendable;
    let free = 0;
    for (const { fixed, root, shortestMs, longestMs, from, to } of shapes) {
      if (from >= corner) left -= fixed / shortestMs;
      else if (to <= before) left -= fixed / longestMs;
      else free += fixed / root;
    }
    // The tolerance keeps rounding errors from refusing intervals that spend exactly everything.
    if (free === 0 ? left >= -1e-9 * spendable : free <= left * corner * (1 + 1e-9))
      return free === 0 ? corner : free / left;
    before = corner;
  }
  return shapes.length === 0 ? 0 : null;
}

/**
 * The interval rounded up to a common one: whole minutes up to an hour, then steps of 5 minutes up to four hours, 15
 * minutes up to twelve, an hour up to four days, then whole days.
 */
export function roundedUp(everyMs: number): number {
  const step = steps.find(({ upTo }) => everyMs <= upTo)?.step ?? day;
  // The tolerance keeps rounding errors from adding a step.
  return Math.min(longestEveryMs, Math.ceil(everyMs / step - 1e-9) * step);
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  { upTo: hour, step: minute },
  { upTo: 4 * hour, step: 5 * minute },
  { upTo: 12 * hour, step: 15 * minute },
  { upTo: 4 * day, step: hour },
];

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

interface OutlookOptions {
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
  const id = scheduleId(taskQueue, { kind: 'sync', org, project, pass });
  return scheduledStarts(timesOf(id, times), fromMs, fromMs + horizonMs);
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
