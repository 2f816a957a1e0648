import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { horizonMs, keptFree } from '../../../src/budget/rules/waiters.ts';
import { capacityOf, latestReleases } from '../../../src/budget/rules/window.ts';
import { emptyWindow } from '../../../src/budget/rules/window-state.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { type Reader, simulate } from '../../tools/window/window-simulation.ts';
import { occupancyMs, settings, t0 } from '../../tools/window/window-support.ts';

const numRuns = propertyRuns(100);
const { windowMs } = settings;
const patient = { limit: Number.POSITIVE_INFINITY, windowMs, othersEvery: null };
const service = { ...patient, saysRetryAfter: false, countsRefused: false };

const kinds = ['on-demand', 'incremental', 'review', 'sweep'] as const;
const job = fc.record({
  project: fc.integer({ min: 0, max: 3 }),
  class: fc.constantFrom(...kinds),
  pages: fc.integer({ min: 1, max: 30 }),
  startsAt: fc.integer({ min: t0, max: t0 + 4 * windowMs }),
});
const spareReaders = fc.record({
  count: fc.integer({ min: 1, max: 3 }),
  leave: fc.integer({ min: 0, max: 20 }),
  halfPace: fc.integer({ min: 1, max: 200 }),
});

type Job = typeof job extends fc.Arbitrary<infer J> ? J : never;
type Spare = typeof spareReaders extends fc.Arbitrary<infer S> ? S : never;

const readersOf = (jobs: readonly Job[]): Reader[] =>
  jobs.map(({ project, ...rest }, i) => ({
    holder: `j${i}`,
    project: `p${project}`,
    wants: 20,
    pace: 2,
    rest: 0,
    ...rest,
  }));

const sparing = ({ count, leave, halfPace }: Spare): Reader[] =>
  Array.from({ length: count }, (_, i) => {
    const who = { holder: `v${i}`, project: `p${i}`, class: 'verify' as const, wants: 1, leave };
    return { ...who, startsAt: t0, pace: 2 * halfPace, rest: 0 };
  });

/** What others are granted, in the order of time. */
function others(requests: number, readers: readonly Reader[]) {
  const pages = readers.reduce((sum, reader) => sum + (reader.pages ?? 0), 0);
  const until = t0 + (7 + Math.ceil(pages / requests)) * windowMs;
  const { grants } = simulate(emptyWindow({ ...settings, requests }, t0), readers, service, { until, wakes: true });
  return grants.filter(({ holder }) => holder.startsWith('j'));
}

const momentsOf = (grants: readonly { at: number; permits: number }[]) =>
  grants.flatMap(({ at, permits }) => Array.from({ length: permits }, () => at)).sort((a, b) => a - b);

describe('spare requests', () => {
  it('change nothing for others, to the millisecond, while they want no more than is kept free', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 30 }),
        fc.array(job, { maxLength: 12 }),
        spareReaders,
        (requests, jobs, spare) => {
          let left = keptFree(emptyWindow({ ...settings, requests }, t0), spare.leave);
          const fitting = jobs.flatMap((one) => {
            const pages = Math.min(one.pages, left, requests);
            left -= pages;
            return pages > 0 ? [{ ...one, pages }] : [];
          });
          const readers = readersOf(fitting);
          assert.deepEqual(others(requests, [...readers, ...sparing(spare)]), others(requests, readers));
        },
      ),
      { numRuns },
    );
  });

  it('delay no request of others by more than a window, whatever they want', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 30 }),
        fc.array(job, { minLength: 1, maxLength: 8 }),
        spareReaders,
        (requests, jobs, spare) => {
          const readers = readersOf(jobs);
          const alone = momentsOf(others(requests, readers));
          const beside = momentsOf(others(requests, [...readers, ...sparing(spare)]));
          assert.equal(beside.length, alone.length);
          for (const [i, at] of beside.entries()) {
            const late = at - (alone[i] ?? 0);
            assert.ok(late <= occupancyMs + horizonMs, `request ${i} is ${late} ms later`);
          }
        },
      ),
      { numRuns },
    );
  });

  it('leave the kept slots free with each grant', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(job, { maxLength: 12 }),
        spareReaders,
        (requests, jobs, spare) => {
          const start = emptyWindow({ ...settings, requests }, t0);
          simulate(start, [...readersOf(jobs), ...sparing(spare)], service, {
            until: t0 + 8 * windowMs,
            wakes: true,
            afterGrant: (state, holder) => {
              if (!holder.startsWith('v')) return;
              const free = capacityOf(state) - latestReleases(state).length;
              assert.ok(free >= keptFree(state, spare.leave), `${free} free`);
              assert.ok(
                state.waiters.every((waiter) => waiter.class === 'verify'),
                'another asker waits',
              );
            },
          });
        },
      ),
      { numRuns },
    );
  });
});
