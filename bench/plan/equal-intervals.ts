import { freshestIntervals, type Refreshed } from '../../src/budget/rules/budget-forecast.ts';

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
