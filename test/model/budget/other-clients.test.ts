import { describe, expect, it } from 'vitest';
import { believed, corrected, nextForgotten, sighted, strangersOf } from '../../../src/model/budget/other-clients.ts';

const windowMs = 60_000;
const at = 1_000_000;

describe('what strangers use', () => {
  it('is what of a full window is not ours, and two that do not show', () => {
    const own = [at - windowMs + 1, at - 5, at];
    expect(sighted([], { at, limit: 100, own, windowMs })).toEqual([{ at, requests: 99 }]);
  });

  it('counts only arrivals of ours within the window that ended with the refusal', () => {
    const own = [at - windowMs, at + 1, at - 1];
    expect(sighted([], { at, limit: 10, own, windowMs })).toEqual([{ at, requests: 11 }]);
  });

  it('is added to what was seen before', () => {
    const first = sighted([], { at, limit: 10, own: [], windowMs });
    expect(sighted(first, { at: at + 7, limit: 10, own: [at], windowMs })).toEqual([
      { at, requests: 12 },
      { at: at + 7, requests: 11 },
    ]);
  });

  it('is less by arrivals of ours that become known later', () => {
    const late = [at - windowMs, at - windowMs + 1, at, at + 1];
    expect(corrected([{ at, requests: 40 }], late, windowMs)).toEqual([{ at, requests: 38 }]);
  });

  it('is believed for three windows', () => {
    const sightings = [
      { at, requests: 1 },
      { at: at + 10, requests: 2 },
    ];
    expect(believed(sightings, at + 3 * windowMs - 1, windowMs)).toEqual(sightings);
    expect(believed(sightings, at + 3 * windowMs, windowMs)).toEqual(sightings.slice(1));
    expect(nextForgotten(sightings.toReversed(), windowMs)).toBe(at + 3 * windowMs);
    expect(nextForgotten([], windowMs)).toBeNull();
  });

  it('is the most of what was seen, and nothing below none', () => {
    const seen = (...requests: number[]) =>
      strangersOf(
        requests.map((each) => ({ at, requests: each })),
        100,
      );
    expect(seen(12, 31, 7)).toBe(31);
    expect(seen(-4)).toBe(0);
    expect(seen()).toBeNull();
  });

  it('leaves a tenth of the limit to us, and one request at least', () => {
    const all = [{ at, requests: 1_000 }];
    expect([100, 95, 10, 5, 1].map((limit) => strangersOf(all, limit))).toEqual([90, 85, 9, 4, 0]);
  });
});
