import { describe, expect, it } from 'vitest';
import {
  addRefusal,
  correctSightings,
  nextSightingExpiry,
  recentSightings,
  requestsOfOthers,
} from '../../../src/budget/rules/window-state.ts';

const windowMs = 60_000;
const at = 1_000_000;

describe('requests of other clients', () => {
  it('are the part of a full window that is not ours, plus two unseen', () => {
    const own = [at - windowMs + 1, at - 5, at];
    expect(addRefusal([], { at, limit: 100, own, windowMs })).toEqual([{ at, requests: 99 }]);
  });

  it('count only our arrivals within the window that ended with the refusal', () => {
    const own = [at - windowMs, at + 1, at - 1];
    expect(addRefusal([], { at, limit: 10, own, windowMs })).toEqual([{ at, requests: 11 }]);
  });

  it('are added to earlier sightings', () => {
    const first = addRefusal([], { at, limit: 10, own: [], windowMs });
    expect(addRefusal(first, { at: at + 7, limit: 10, own: [at], windowMs })).toEqual([
      { at, requests: 12 },
      { at: at + 7, requests: 11 },
    ]);
  });

  it('shrink by our own arrivals that become known later', () => {
    const late = [at - windowMs, at - windowMs + 1, at, at + 1];
    expect(correctSightings([{ at, requests: 40 }], late, windowMs)).toEqual([{ at, requests: 38 }]);
  });

  it('count for three windows', () => {
    const sightings = [
      { at, requests: 1 },
      { at: at + 10, requests: 2 },
    ];
    expect(recentSightings(sightings, at + 3 * windowMs - 1, windowMs)).toEqual(sightings);
    expect(recentSightings(sightings, at + 3 * windowMs, windowMs)).toEqual(sightings.slice(1));
    expect(nextSightingExpiry(sightings.toReversed(), windowMs)).toBe(at + 3 * windowMs);
    expect(nextSightingExpiry([], windowMs)).toBeNull();
  });

  it('are the highest sighting, and never below zero', () => {
    const seen = (...requests: number[]) =>
      requestsOfOthers(
        requests.map((each) => ({ at, requests: each })),
        100,
      );
    expect(seen(12, 31, 7)).toBe(31);
    expect(seen(-4)).toBe(0);
    expect(seen()).toBeNull();
  });

  it('leave us a tenth of the limit, and at least one request', () => {
    const all = [{ at, requests: 1_000 }];
    expect([100, 95, 10, 5, 1].map((limit) => requestsOfOthers(all, limit))).toEqual([90, 85, 9, 4, 0]);
  });
});
