import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { emptyWindow } from '../../../src/budget/rules/window-state.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { type Reader, simulate } from '../../tools/window/window-simulation.ts';
import { settings, t0 } from '../../tools/window/window-support.ts';

const numRuns = propertyRuns(50);
const { windowMs } = settings;

/** Most moments within any three windows. */
function mostInThreeWindows(moments: readonly number[]): number {
  return moments.reduce((most, from) => {
    const within = moments.filter((moment) => moment >= from && moment < from + 3 * windowMs).length;
    return Math.max(most, within);
  }, 0);
}

describe('a pass beside other clients that use a constant share of the window', () => {
  const scene = fc.record({
    limit: fc.integer({ min: 10, max: 120 }),
    share: fc.double({ min: 0.02, max: 0.7, noNaN: true }),
    saysRetryAfter: fc.boolean(),
    countsRefused: fc.boolean(),
  });
  const reader = fc.record({
    startsAt: fc.integer({ min: t0 + windowMs, max: t0 + 2 * windowMs }),
    halfPace: fc.integer({ min: 10, max: 110 }),
    rest: fc.integer({ min: 0, max: 200 }),
  });

  /** Twenty windows of some readers; the other clients begin one window earlier. */
  function twentyWindows(
    { limit, share, ...service }: typeof scene extends fc.Arbitrary<infer S> ? S : never,
    sources: (typeof reader extends fc.Arbitrary<infer R> ? R : never)[],
  ) {
    const others = Math.max(1, Math.floor(limit * share));
    const readers = sources.map(({ startsAt, halfPace, rest }, i): Reader => {
      const who = { holder: `h${i}`, project: `p${i}`, class: 'refresh' as const, wants: 20 };
      return { ...who, startsAt, pace: 2 * halfPace, rest };
    });
    const happened = simulate(
      emptyWindow({ ...settings, requests: limit }, t0),
      readers,
      { ...service, limit, windowMs, othersEvery: windowMs / others },
      { until: t0 + 20 * windowMs, wakes: true },
    );
    return { ...happened, others };
  }

  it('is refused once in three windows, when the budget checks whether they are still there (B4)', () => {
    fc.assert(
      fc.property(scene, reader, (service, one) => {
        const { refused } = twentyWindows(service, [one]);
        assert.ok(mostInThreeWindows(refused) <= 1, `refused at ${refused.join(', ')}`);
      }),
      { numRuns },
    );
  });

  it('is refused once for each lease in use at that time, with several readers', () => {
    fc.assert(
      fc.property(scene, fc.array(reader, { minLength: 2, maxLength: 4 }), (service, several) => {
        const { refused } = twentyWindows(service, several);
        assert.ok(mostInThreeWindows(refused) <= several.length, `refused at ${refused.join(', ')}`);
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });

  it('uses what they leave', () => {
    fc.assert(
      fc.property(scene, reader, (service, one) => {
        const { accepted, others } = twentyWindows(service, [one]);
        // They are left two more than seen, and the reader comes up to two windows late.
        const left = service.limit - others - 2;
        assert.ok(accepted.length >= 0.9 * 18 * left, `${accepted.length} of ${18 * left} requests`);
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });
});
