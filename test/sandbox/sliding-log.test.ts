import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FixedWindow, mostInAnyWindow, SlidingWindow } from '../../sandbox/sliding-log.ts';

describe('mostInAnyWindow', () => {
  it.each([
    { times: [], most: 0 },
    { times: [0, 1, 2], most: 3 },
    { times: [0, 9.999], most: 2 },
    { times: [0, 10], most: 1 },
    { times: [0, 5, 10, 15], most: 2 },
    { times: [0, 8, 9, 10, 11, 30], most: 4 },
  ])('holds $most of $times in 10 ms', ({ times, most }) => {
    expect(mostInAnyWindow(times, 10)).toBe(most);
  });

  it('agrees with counting at every request', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200)), fc.integer({ min: 1, max: 50 }), (unsorted, windowMs) => {
        const times = unsorted.toSorted((a, b) => a - b);
        const counts = times.map((from) => times.filter((time) => time >= from && time < from + windowMs).length);
        expect(mostInAnyWindow(times, windowMs)).toBe(Math.max(0, ...counts));
      }),
    );
  });
});

describe('SlidingWindow', () => {
  it('takes a request exactly one window after the one it replaces, and not before', () => {
    const window = new SlidingWindow(2, 1_000);
    window.count(0);
    window.count(400);
    expect(window.hasRoom(999.9)).toBe(false);
    expect(window.untilNextFree(999)).toBe(1);
    expect(window.hasRoom(1_000)).toBe(true);
    window.count(1_000);
    expect(window.untilNextFree(1_000)).toBe(400);
  });

  it('waits for as many to leave as are above the limit', () => {
    const window = new SlidingWindow(1, 1_000);
    window.count(0);
    window.count(300);
    expect(window.untilNextFree(300)).toBe(1_000);
  });

  it('never lets more through than its limit in any window, and never less than it could', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 200 }), fc.integer({ min: 1, max: 5 }), (gaps, limit) => {
        const window = new SlidingWindow(limit, 100);
        const taken: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const inWindow = taken.filter((time) => now - time < 100).length;
          expect(window.hasRoom(now)).toBe(inWindow < limit);
          if (inWindow < limit) {
            window.count(now);
            taken.push(now);
          }
        }
        expect(mostInAnyWindow(taken, 100)).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

describe('FixedWindow', () => {
  it('starts over at each multiple of its length', () => {
    const window = new FixedWindow(1, 1_000);
    window.count(1_900);
    expect(window.hasRoom(1_999)).toBe(false);
    expect(window.untilNextFree(1_990)).toBe(10);
    expect(window.hasRoom(2_000)).toBe(true);
  });
});
