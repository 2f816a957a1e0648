import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ForecastPass, forecastBudget } from '../../../src/budget/rules/budget-forecast.ts';

const minute = 60_000;
const hour = 60 * minute;
const every = (everyMs: number, untilMs: number, offsetMs = 0): number[] =>
  Array.from({ length: Math.max(0, Math.ceil((untilMs - offsetMs) / everyMs)) }, (_, n) => offsetMs + n * everyMs);

describe('forecastBudget', () => {
  it('sees half of the interval where nobody waits', () => {
    const untilMs = 24 * hour;
    const { passes, fullest } = forecastBudget(
      [
        { starts: every(hour, untilMs), requests: 1, rank: 0 },
        { starts: every(15 * minute, untilMs, minute), requests: 2, rank: 0 },
      ],
      { limit: 10, windowMs: hour, untilMs },
    );
    expect(passes).toEqual([
      { finished: 24, skipped: 0, longestMs: 0, stalenessMs: hour / 2 },
      { finished: 96, skipped: 0, longestMs: 0, stalenessMs: 7.5 * minute },
    ]);
    expect(fullest).toEqual({ fromMs: 0, requests: 9 });
  });

  it('spends a window at once, waits for its end, and lets the lower rank go first then', () => {
    const { passes } = forecastBudget(
      [
        { starts: [0], requests: 25, rank: 2 },
        { starts: [10 * minute], requests: 3, rank: 0 },
      ],
      { limit: 10, windowMs: hour, untilMs: 24 * hour },
    );
    // The sweep sends 10 at 0, then 7 beside the other's 3 after one hour, and the last 8 after two.
    expect(passes[0]).toMatchObject({ finished: 1, longestMs: 2 * hour });
    expect(passes[1]).toMatchObject({ finished: 1, longestMs: 50 * minute });
  });

  it('takes turns within a rank', () => {
    const two = { starts: [0], requests: 10, rank: 1 };
    const { passes } = forecastBudget([two, two], { limit: 10, windowMs: hour, untilMs: 24 * hour });
    expect(passes.map(({ longestMs }) => longestMs)).toEqual([hour, hour]);
  });

  it('leaves out a start that finds the run before still going', () => {
    const starts = every(hour, 10 * hour);
    const { passes } = forecastBudget([{ starts, requests: 25, rank: 0 }], {
      limit: 10,
      windowMs: hour,
      untilMs: 10 * hour,
    });
    // A run takes two hours and leaves five slots, so the next begins one hour later with those.
    expect(passes[0]?.skipped).toBeGreaterThan(0);
    expect((passes[0]?.finished ?? 0) + (passes[0]?.skipped ?? 0)).toBeLessThanOrEqual(starts.length);
    expect(passes[0]?.stalenessMs).toBeGreaterThan(hour);
  });

  it('says null of what never ends, and how long it has been at it', () => {
    const untilMs = 10 * hour;
    const { passes } = forecastBudget(
      [
        { starts: every(hour, untilMs), requests: 10, rank: 0 },
        { starts: [minute], requests: 1, rank: 2 },
      ],
      { limit: 10, windowMs: hour, untilMs },
    );
    expect(passes[1]).toEqual({ finished: 0, skipped: 0, longestMs: untilMs - minute, stalenessMs: null });
  });

  it('spends broken numbers of requests as they add up', () => {
    const untilMs = 100 * hour;
    const many: ForecastPass = { starts: every(hour, untilMs), requests: 1.5, rank: 0 };
    const { passes } = forecastBudget([many, { ...many, requests: 0.5 }], { limit: 2, windowMs: hour, untilMs });
    expect(passes.map(({ finished }) => finished).reduce((a, b) => a + b)).toBeLessThan(200);
    const free = forecastBudget([many], { limit: 2, windowMs: hour, untilMs });
    expect(free.passes[0]).toEqual({ finished: 100, skipped: 0, longestMs: 0, stalenessMs: hour / 2 });
  });

  it('has nothing to say about nothing', () => {
    expect(forecastBudget([], { limit: 1, windowMs: hour, untilMs: hour })).toEqual({ fullest: null, passes: [] });
    expect(forecastBudget([{ starts: [], requests: 1, rank: 0 }], { limit: 1, windowMs: hour, untilMs: hour })).toEqual(
      {
        fullest: null,
        passes: [{ finished: 0, skipped: 0, longestMs: 0, stalenessMs: null }],
      },
    );
  });

  it('accounts for every start, and finds the fullest window', () => {
    const pass = fc.record({
      starts: fc
        .array(fc.integer({ min: 0, max: 600 }), { maxLength: 40 })
        .map((minutes) => [...new Set(minutes)].sort((a, b) => a - b).map((at) => at * minute)),
      requests: fc.integer({ min: 1, max: 30 }),
      rank: fc.integer({ min: 0, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(pass, { maxLength: 6 }), fc.integer({ min: 1, max: 40 }), (passes, limit) => {
        // Long enough for everything to end.
        const untilMs = 10_000 * hour;
        const forecast = forecastBudget(passes, { limit, windowMs: hour, untilMs });
        for (const [index, { starts }] of passes.entries()) {
          const { finished = 0, skipped = 0 } = forecast.passes[index] ?? {};
          expect(finished + skipped).toBe(starts.length);
        }
        const asked = (from: number) =>
          passes.reduce(
            (sum, { starts, requests }) =>
              sum + requests * starts.filter((at) => at >= from && at < from + hour).length,
            0,
          );
        const most = Math.max(0, ...passes.flatMap(({ starts }) => starts.map(asked)));
        expect(forecast.fullest?.requests ?? 0).toBe(most);
      }),
    );
  });
});
