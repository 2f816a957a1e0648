/**
 * What a pass costs, in requests: `fixed` for each run, and `perMs` for each millisecond since the run before, for what
 * came in meanwhile. So a pass every T costs `fixed / T + perMs` a millisecond on average.
 */
export interface RunCost {
  /** More than 0. */
  fixed: number;
  perMs: number;
}

/** A pass whose interval is to be found. */
export interface Refreshed {
  cost: RunCost;
  /** How much its delay counts, e.g. new entries a day; more than 0. */
  weight: number;
  /** The interval is never shorter, in milliseconds; more than 0. */
  shortestMs: number;
  /** Nor longer; not less than `shortestMs`. */
  longestMs: number;
}

/** The longest interval that docferry.yaml takes. */
export const longestEveryMs = 366 * 86_400_000;

/** Requests a millisecond that passes of these intervals cost on average. */
export function requestRate(passes: readonly { cost: RunCost; everyMs: number }[]): number {
  return passes.reduce((sum, { cost, everyMs }) => sum + cost.fixed / everyMs + cost.perMs, 0);
}

/**
 * Mean time in milliseconds until what happened is seen, over all that happens, with these intervals: what falls into an
 * interval at random waits for half of it. Null without passes.
 */
export function meanStaleness(passes: readonly { weight: number; everyMs: number }[]): number | null {
  const weights = passes.reduce((sum, { weight }) => sum + weight, 0);
  return weights === 0 ? null : passes.reduce((sum, { weight, everyMs }) => sum + (weight * everyMs) / 2, 0) / weights;
}

/**
 * The intervals, in milliseconds, of least `meanStaleness` that cost at most `budget` requests a millisecond; null when
 * even the longest cost more. Exact: T is proportional to √(fixed / weight) (the multiplier of Lagrange,
 * docs/budget-plan.md), but held at a bound that it would cross.
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

/** The interval is `scale · root` while the scale is between `from` and `to`, at a bound before and after. */
interface Shape {
  fixed: number;
  root: number;
  shortestMs: number;
  longestMs: number;
  from: number;
  to: number;
}

/** The smallest scale at which the passes cost no more than is spendable. The longer the intervals, the less they cost. */
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
    // Intervals that spend all exactly, as those of today may, are not refused for what rounding of numbers leaves.
    if (free === 0 ? left >= -1e-9 * spendable : free <= left * corner * (1 + 1e-9))
      return free === 0 ? corner : free / left;
    before = corner;
  }
  return shapes.length === 0 ? 0 : null;
}

/**
 * The interval rounded up to one that people write: whole minutes up to an hour, then steps of 5 minutes up to four hours,
 * a quarter of an hour up to twelve, an hour up to four days, then whole days.
 */
export function roundedUp(everyMs: number): number {
  const step = steps.find(({ upTo }) => everyMs <= upTo)?.step ?? day;
  // What the rounding of numbers adds to an exact interval is not worth a step more.
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
