import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { emptyWindow } from '../../../src/budget/rules/window-state.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { type Reader, simulate } from '../../tools/window/window-simulation.ts';
import { occupancyMs, settings, t0 } from '../../tools/window/window-support.ts';

const numRuns = propertyRuns(100);
const { windowMs } = settings;

describe('against an endless stream of on-demand askers of its own and of other projects', () => {
  const busy = fc.record({
    project: fc.integer({ min: 0, max: 5 }),
    wants: fc.integer({ min: 1, max: 20 }),
    startsAt: fc.oneof(fc.constant(t0), fc.integer({ min: t0, max: t0 + 2_000 })),
    halfPace: fc.integer({ min: 1, max: 500 }),
    rest: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000 })),
  });
  const startsAt = fc.oneof(fc.constant(t0), fc.integer({ min: t0, max: t0 + 2 * windowMs }));

  it('refresh is served after a window and one turn of the others, then takes turns with them, woken or not (B3)', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(busy, { minLength: 1, maxLength: 14 }),
        startsAt,
        fc.boolean(),
        (requests, others, startsAt, wakes) => {
          const readers = others.map(({ project, wants, halfPace, ...rest }, i): Reader => {
            const who = { holder: `d${i}`, project: `p${project}`, class: 'on-demand' as const, wants };
            return { ...who, ...rest, pace: 2 * halfPace };
          });
          const waiter = {
            holder: 'waiter',
            project: 'p0',
            class: 'refresh' as const,
            wants: 20,
            startsAt,
            pace: 200,
            rest: 0,
          };
          const service = { limit: Number.POSITIVE_INFINITY, windowMs, othersEvery: null };
          const turns = new Set(others.map(({ project }) => project)).size;
          // A slot is taken for a little longer than a window, and what rests in between comes back late.
          const rest = Math.max(...others.map((one) => one.rest));
          const turn = (2 + Math.ceil(turns / requests)) * occupancyMs + rest;
          const bound = occupancyMs + turn;
          const { grants } = simulate(
            emptyWindow({ ...settings, requests }, t0),
            [...readers, waiter],
            { ...service, saysRetryAfter: false, countsRefused: false },
            { until: startsAt + 2 * bound, wakes },
          );
          const served = grants.filter(({ holder }) => holder === 'waiter').map(({ at }) => at);
          assert.ok(served.length >= 1 && (served[0] ?? 0) - startsAt <= bound, `waited ${served[0]} of ${bound}`);
          for (const [i, at] of served.slice(1).entries()) {
            assert.ok(at - (served[i] ?? 0) <= turn, `waited from ${served[i]} to ${at}`);
          }
        },
      ),
      { numRuns },
    );
  });
});
