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
