import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { observedDuration, usualDuration } from '../../../src/exports/rules/cadence.ts';

const minute = 60_000;

describe('usualDuration', () => {
  it('knows nothing without a job, and little with one', () => {
    expect(usualDuration([])).toBeNull();
    expect(usualDuration([0, Number.NaN, -1])).toBeNull();
    const one = usualDuration([10 * minute]);
    expect(one?.middleMs).toBeCloseTo(10 * minute, 3);
    expect(one?.earliestMs).toBeLessThan(7 * minute);
    expect(one?.latestMs).toBeGreaterThan(14 * minute);
  });

  it('narrows with jobs that agree, and is not misled by one that does not', () => {
    const alike = Array.from({ length: 10 }, (_, n) => (10 + 0.05 * n) * minute);
    const narrow = usualDuration(alike);
    expect(narrow?.earliestMs).toBeGreaterThan(9 * minute);
    expect(narrow?.latestMs).toBeLessThan(11.5 * minute);
    const oneOff = usualDuration([60 * minute, ...alike.slice(1)]);
    expect(oneOff?.latestMs).toBeLessThan(11.5 * minute);
  });

  it('lies around its middle, whatever was seen', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 10 ** 9 }), { minLength: 1, maxLength: 10 }), (durations) => {
        const usual = usualDuration(durations);
        if (usual === null) throw new Error('durations were given');
        expect(usual.earliestMs).toBeLessThan(usual.middleMs);
        expect(usual.middleMs).toBeLessThan(usual.latestMs);
        expect(usual.middleMs).toBeGreaterThanOrEqual(Math.min(...durations) * 0.999);
        expect(usual.middleMs).toBeLessThanOrEqual(Math.max(...durations) * 1.001);
      }),
    );
  });
});

describe('observedDuration', () => {
  it('lies between the polls that saw the job running and done, and not far before the latter', () => {
    expect(observedDuration(100_000, 110_000, 20_000)).toBe(105_000);
    expect(observedDuration(50_000, 110_000, 20_000)).toBe(100_000);
    expect(observedDuration(0, 6_000, 20_000)).toBe(3_000);
  });

  it('does not drift: sites whose jobs always take the same learn that, wherever they begin', () => {
    const takes = 150_000;
    const spacingMs = 17_500;
    for (const start of [0.8, 0.95, 1.05, 1.3]) {
      let learnt = Array.from({ length: 10 }, () => start * takes);
      for (let job = 0; job < 100; job += 1) {
        const usual = usualDuration(learnt);
        if (usual === null) throw new Error('durations were given');
        let runningMs = usual.middleMs / 2;
        let doneMs = Math.min(usual.earliestMs + spacingMs, usual.middleMs + spacingMs / 2);
        while (doneMs < takes) [runningMs, doneMs] = [doneMs, doneMs + spacingMs];
        learnt = [observedDuration(Math.min(runningMs, takes), doneMs, spacingMs), ...learnt].slice(0, 10);
      }
      expect(Math.abs((usualDuration(learnt)?.middleMs ?? 0) - takes)).toBeLessThan(spacingMs);
    }
  });
});
