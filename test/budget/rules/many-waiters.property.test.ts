import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { capacityOf } from '../../../src/budget/rules/window.ts';
import { emptyWindow } from '../../../src/budget/rules/window-state.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { type Reader, simulate } from '../../tools/window/window-simulation.ts';
import { settings, t0 } from '../../tools/window/window-support.ts';

const numRuns = propertyRuns(2);
const { windowMs } = settings;
const count = 1_000;

describe('a thousand waiters', () => {
  it('are all served in a time that the limit allows, and none refused by the service (B2)', () => {
    const scene = fc.record({
      requests: fc.integer({ min: 100, max: 400 }),
      pace: fc.integer({ min: 1, max: 50 }),
      spread: fc.integer({ min: 0, max: windowMs }),
    });
    fc.assert(
      fc.property(scene, ({ requests, pace, spread }) => {
        const readers = Array.from({ length: count }, (_, i): Reader => {
          const kind = i % 10 === 0 ? 'on-demand' : 'refresh';
          const startsAt = t0 + Math.floor((i * spread) / count);
          return {
            holder: `h${i}`,
            project: `p${i}`,
            class: kind,
            wants: 1,
            pages: 1,
            startsAt,
            pace: 2 * pace,
            rest: 0,
          };
        });
        const start = emptyWindow({ ...settings, requests }, t0);
        const windows = Math.ceil(count / capacityOf(start));
        const service = { limit: requests, windowMs, othersEvery: null, saysRetryAfter: true, countsRefused: false };
        // A window edge is late by what a slot stays occupied longer, and by a wake-up.
        const until = t0 + spread + windows * (windowMs + 3_000);
        const { accepted, refused, grants } = simulate(start, readers, service, { until, wakes: true });
        assert.equal(refused.length, 0);
        assert.equal(new Set(grants.map(({ holder }) => holder)).size, count);
        assert.equal(accepted.length, count);
      }),
      { numRuns },
    );
  });
});
