import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equalIntervals } from '../../../bench/plan/equal-intervals.ts';
import {
  freshestIntervals,
  longestEveryMs,
  meanStaleness,
  type Refreshed,
  requestRate,
  roundedUp,
} from '../../../src/budget/rules/budget-forecast.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const pass = (fixed: number, weight: number, over: Partial<Refreshed> = {}): Refreshed => ({
  cost: { fixed, perMs: 0 },
  weight,
  shortestMs: 1,
  longestMs: longestEveryMs,
  ...over,
});

function staleness(passes: readonly Refreshed[], intervals: readonly number[]): number {
  return meanStaleness(passes.map(({ weight }, index) => ({ weight, everyMs: intervals[index] ?? 0 }))) ?? 0;
}

function cost(passes: readonly Refreshed[], intervals: readonly number[]): number {
  return requestRate(passes.map((one, index) => ({ cost: one.cost, everyMs: intervals[index] ?? 0 })));
}

describe('freshestIntervals', () => {
  it('are proportional to the root of cost over weight', () => {
    const [quiet = 0, busy = 0, costly = 0] =
      freshestIntervals([pass(1, 1), pass(1, 100), pass(25, 1)], 10 / hour) ?? [];
    expect(quiet / busy).toBeCloseTo(10);
    expect(costly / quiet).toBeCloseTo(5);
    expect(cost([pass(1, 1), pass(1, 100), pass(25, 1)], [quiet, busy, costly]) * hour).toBeCloseTo(10);
  });

  it('are equal for equal projects', () => {
    expect(freshestIntervals([pass(1, 3), pass(1, 3)], 4 / hour)).toEqual([hour / 2, hour / 2]);
  });

  it('hold those at their bound that would be shorter, and give what they leave to the others', () => {
    const passes = [pass(1, 1_000_000, { shortestMs: 30 * minute }), pass(1, 1)];
    expect(freshestIntervals(passes, 3 / hour)).toEqual([30 * minute, expect.closeTo(hour)]);
  });

  it('hold those at their bound that would be longer, and take it from the others', () => {
    const passes = [pass(1, 1, { longestMs: 30 * minute }), pass(1, 1_000_000)];
    expect(freshestIntervals(passes, 3 / hour)).toEqual([30 * minute, expect.closeTo(hour)]);
    expect(freshestIntervals(passes, 1.9 / hour)).toBeNull();
  });

  it('pay for what comes in anyway first', () => {
    const passes = [pass(1, 1, { cost: { fixed: 1, perMs: 6 / hour } })];
    expect(freshestIntervals(passes, 10 / hour)?.[0]).toBeCloseTo(15 * minute);
    expect(freshestIntervals(passes, 6 / hour)).toBeNull();
  });

  it('are none where even the longest cost too much, and trivial without passes', () => {
    expect(freshestIntervals([pass(1, 1)], 0.5 / longestEveryMs)).toBeNull();
    expect(freshestIntervals([], 0)).toEqual([]);
  });

  it('may spend all that there is to the last request', () => {
    const passes = [3, 7, 11].map((n) => pass(0.1 * n, 1e9, { shortestMs: n * minute }));
    const exactly = cost(
      passes,
      passes.map(({ shortestMs }) => shortestMs),
    );
    expect(freshestIntervals(passes, exactly)?.map(roundedUp)).toEqual(passes.map(({ shortestMs }) => shortestMs));
  });

  const someProjects = fc.array(
    fc
      .record({
        cost: fc.record({
          fixed: fc.double({ min: 0.5, max: 500, noNaN: true }),
          perMs: fc.double({ min: 0, max: 1 / hour, noNaN: true }),
        }),
        weight: fc.double({ min: 0.01, max: 10_000, noNaN: true }),
        shortestMs: fc.integer({ min: minute, max: 12 * hour }),
        room: fc.oneof(fc.constant(longestEveryMs), fc.double({ min: 0, max: 3 * day, noNaN: true })),
      })
      .map(({ room, ...one }) => ({ ...one, longestMs: one.shortestMs + room })),
    { minLength: 1, maxLength: 30 },
  );
  const someBudget = fc.double({ min: 0.1, max: 1_000, noNaN: true }).map((requests) => requests / hour);

  it('never exceed the budget or cross a bound, and waste nothing', () => {
    fc.assert(
      fc.property(someProjects, someBudget, (passes, budget) => {
        const intervals = freshestIntervals(passes, budget);
        const longest = cost(
          passes,
          passes.map(({ longestMs }) => longestMs),
        );
        if (intervals === null) {
          expect(longest).toBeGreaterThan(budget * (1 - 1e-6));
          return;
        }
        const spent = cost(passes, intervals);
        expect(spent).toBeLessThanOrEqual(budget * (1 + 1e-9));
        for (const [index, { shortestMs, longestMs }] of passes.entries()) {
          expect(intervals[index]).toBeGreaterThanOrEqual(shortestMs);
          expect(intervals[index]).toBeLessThanOrEqual(longestMs);
        }
        const allAtBound = passes.every(({ shortestMs }, index) => (intervals[index] ?? 0) <= shortestMs * (1 + 1e-9));
        if (!allAtBound) expect(spent).toBeGreaterThan(budget * (1 - 1e-6));
        expect(cost(passes, intervals.map(roundedUp))).toBeLessThanOrEqual(budget * (1 + 1e-9));
      }),
    );
  });

  it('are never worse than equal intervals, and better where projects differ', () => {
    let better = 0;
    fc.assert(
      fc.property(someProjects, someBudget, (passes, budget) => {
        const equal = equalIntervals(passes, budget);
        const freshest = freshestIntervals(passes, budget);
        if (equal === null || freshest === null) return;
        expect(staleness(passes, freshest)).toBeLessThanOrEqual(staleness(passes, equal) * (1 + 1e-9));
        if (staleness(passes, freshest) < 0.9 * staleness(passes, equal)) better += 1;
      }),
    );
    expect(better).toBeGreaterThan(0);
  });

  it('cannot be bettered by moving requests from one project to another', () => {
    fc.assert(
      fc.property(someProjects, someBudget, fc.nat(), fc.nat(), (passes, budget, one, other) => {
        const intervals = freshestIntervals(passes, budget);
        if (intervals === null) return;
        const from = one % passes.length;
        const to = other % passes.length;
        const moved = [...intervals];
        // The one is read a hundredth less often, the other as much more often as that pays for.
        const spared = ((passes[from]?.cost.fixed ?? 0) / (intervals[from] ?? 1)) * 0.01;
        moved[from] = (intervals[from] ?? 0) / 0.99;
        const fixed = passes[to]?.cost.fixed ?? 1;
        moved[to] = fixed / (fixed / (moved[to] ?? 1) + spared);
        if ((moved[to] ?? 0) < (passes[to]?.shortestMs ?? 0)) return;
        if ((moved[from] ?? 0) > (passes[from]?.longestMs ?? 0)) return;
        expect(staleness(passes, moved)).toBeGreaterThanOrEqual(staleness(passes, intervals) * (1 - 1e-9));
      }),
    );
  });
});

describe('equalIntervals', () => {
  it('are one interval for all, but for those it is too short for', () => {
    expect(equalIntervals([pass(1, 1), pass(3, 100)], 4 / hour)).toEqual([expect.closeTo(hour), expect.closeTo(hour)]);
    const passes = [pass(1, 1), pass(1, 1), pass(10, 1, { shortestMs: day })];
    expect(equalIntervals(passes, (10 / 24 + 4) / hour)).toEqual([
      expect.closeTo(30 * minute),
      expect.closeTo(30 * minute),
      day,
    ]);
  });
});

describe('roundedUp', () => {
  it.each([
    [minute + 1, 2 * minute],
    [59.5 * minute, hour],
    [hour, hour],
    [hour + 1e-9, hour],
    [62 * minute, 65 * minute],
    [4 * hour + 1, 4.25 * hour],
    [13.5 * hour, 14 * hour],
    [4 * day + 1, 5 * day],
    [7 * day, 7 * day],
    [longestEveryMs - 1, longestEveryMs],
  ])('makes %d ms %d', (everyMs, rounded) => {
    expect(roundedUp(everyMs)).toBe(rounded);
  });

  it('adds at most a fifth from five minutes on', () => {
    fc.assert(
      fc.property(fc.integer({ min: 5 * minute, max: 300 * day }), (everyMs) => {
        expect(roundedUp(everyMs)).toBeGreaterThanOrEqual(Math.min(everyMs, longestEveryMs));
        expect(roundedUp(everyMs)).toBeLessThan(1.25 * everyMs);
      }),
    );
  });
});

describe('meanStaleness', () => {
  it('is half of the interval, weighted', () => {
    expect(
      meanStaleness([
        { weight: 3, everyMs: 20 },
        { weight: 1, everyMs: 100 },
      ]),
    ).toBe(20);
    expect(meanStaleness([])).toBeNull();
  });
});
