import { describe, expect, it } from 'vitest';
import { equalIntervals } from '../../../bench/plan/equal-intervals.ts';
import { simulateStaleness } from '../../../bench/plan/staleness-simulation.ts';
import { freshestIntervals, longestEveryMs, type Refreshed } from '../../../src/budget/rules/budget-forecast.ts';
import { runCost } from '../../../src/budget/rules/plan-budget.ts';

const minute = 60_000;
const hour = 60 * minute;

/** Mean staleness as simulated, in minutes, with equal and with freshest intervals for 80 of 100 requests an hour. */
function simulated(mix: readonly number[]): { equal: number; freshest: number } {
  const passes = mix.map((weight): Refreshed => {
    return {
      cost: runCost('incremental', null, weight, 0).cost,
      weight,
      shortestMs: minute,
      longestMs: longestEveryMs,
    };
  });
  const played = (intervals: readonly number[] | null) => {
    const projects = mix.map((perDay, index) => ({ perDay, everyMs: intervals?.[index] ?? 0 }));
    const { meanMs, mostInWindow } = simulateStaleness(projects, { limit: 100, days: 7, seed: 1 });
    expect(mostInWindow).toBeLessThanOrEqual(100);
    return meanMs / minute;
  };
  return { equal: played(equalIntervals(passes, 80 / hour)), freshest: played(freshestIntervals(passes, 80 / hour)) };
}

describe('simulated staleness', () => {
  it('is half of the interval where nobody waits, as the model has it', () => {
    const { projectMs, requestsAnHour } = simulateStaleness(
      [
        { perDay: 400, everyMs: 20 * minute },
        { perDay: 200, everyMs: hour },
      ],
      { limit: 100, days: 28, seed: 3 },
    );
    expect((projectMs[0] ?? 0) / minute).toBeCloseTo(10, 0);
    expect((projectMs[1] ?? 0) / minute).toBeCloseTo(30, 0);
    // Four to five pages of entries within the overlap, and two to three.
    expect(requestsAnHour).toBeGreaterThan(3 * 4 + 2);
    expect(requestsAnHour).toBeLessThan(3 * 5 + 3);
  });

  it('is less with the freshest intervals than with equal ones where projects differ', () => {
    const { equal, freshest } = simulated([500, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
    expect(freshest).toBeLessThan(0.75 * equal);
  });

  it('is the same where projects are alike', () => {
    const { equal, freshest } = simulated([20, 20, 20, 20]);
    expect(freshest).toBeCloseTo(equal);
  });
});
