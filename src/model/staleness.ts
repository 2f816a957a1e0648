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
 * no intervals up to a year do. Exact: where no bound holds, T is proportional to √(fixed / weight) (the multiplier of
 * Lagrange, docs/budget-plan.md); those it would make too short are held at their bound and the others solved again.
 */
export function freshestIntervals(passes: readonly Refreshed[], budget: number): number[] | null {
  const spendable = budget - passes.reduce((sum, { cost }) => sum + cost.perMs, 0);
  const held = new Set<Refreshed>();
  for (;;) {
    const scale = scaleOf(passes, held, spendable);
    if (scale === null) return null;
    const wanted = (pass: Refreshed) => scale * Math.sqrt(pass.cost.fixed / pass.weight);
    const tooShort = passes.filter((pass) => !held.has(pass) && wanted(pass) < pass.shortestMs);
    if (tooShort.length === 0) {
      const intervals = passes.map((pass) => (held.has(pass) ? pass.shortestMs : wanted(pass)));
      return intervals.every((everyMs) => everyMs <= longestEveryMs) ? intervals : null;
    }
    // Holding a pass back leaves more to the others, whose intervals only shrink: no held one is ever let go.
    for (const pass of tooShort) held.add(pass);
  }
}

/**
 * One common interval for all passes, but for those it would be too short for, at the same budget: what
 * `freshestIntervals` is compared with. Weights that equal the costs make its intervals equal.
 */
export function equalIntervals(passes: readonly Refreshed[], budget: number): number[] | null {
  return freshestIntervals(
    passes.map((pass) => ({ ...pass, weight: pass.cost.fixed })),
    budget,
  );
}

/** What √(fixed / weight) is multiplied with so that the passes that are not held spend all; null when nothing is left. */
function scaleOf(passes: readonly Refreshed[], held: ReadonlySet<Refreshed>, spendable: number): number | null {
  let left = spendable;
  let free = 0;
  for (const pass of passes) {
    if (held.has(pass)) left -= pass.cost.fixed / pass.shortestMs;
    else free += Math.sqrt(pass.cost.fixed * pass.weight);
  }
  // Intervals that spend all exactly, as those of today may, are not refused for what rounding of numbers leaves.
  if (free === 0) return left >= -1e-9 * spendable ? 0 : null;
  return left > 0 ? free / left : null;
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
