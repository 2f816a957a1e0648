import { describe, expect, it } from 'vitest';
import {
  livePromotions,
  noUses,
  removable,
  withPromotion,
  withRollout,
} from '../../../src/bundle/store/version-uses.ts';

const now = new Date('2026-12-24T00:00:00Z');
const versionAt = (day: number) => `202612${String(day).padStart(2, '0')}T000000Z-${String(day).padStart(12, '0')}`;
const all = [3, 1, 5, 2, 4].map(versionAt);
const attempt = (day: number, id = 'one') => ({ version: versionAt(day), id });
const keeping = { stored: all, keep: 1, current: null, held: [], rollouts: {}, uses: noUses, now: now };

describe('removable', () => {
  it('takes the oldest beyond those that are kept', () => {
    expect(removable({ ...keeping, keep: 3 })).toEqual([2, 1].map(versionAt));
    expect(removable({ ...keeping, keep: 5 })).toEqual([]);
    expect(removable({ ...keeping, stored: [] })).toEqual([]);
  });

  it('counts those it must not take among the newest only when they are', () => {
    expect(removable({ ...keeping, keep: 2, current: versionAt(1) })).toEqual([3, 2].map(versionAt));
    expect(removable({ ...keeping, held: [versionAt(2)], rollouts: { t: versionAt(3) } })).toEqual(
      [4, 1].map(versionAt),
    );
  });

  it('leaves what is rolled out or promoted now, as long as whoever does it can be alive', () => {
    const uses = withRollout(noUses, 'constructor', versionAt(1));
    expect(removable({ ...keeping, uses })).not.toContain(versionAt(1));
    const hours = (n: number) => new Date(now.getTime() - n * 3_600_000);
    const alive = withPromotion(uses, attempt(2), hours(23));
    expect(removable({ ...keeping, uses: alive })).toEqual([4, 3].map(versionAt));
    const dead = withPromotion(uses, attempt(2), hours(25));
    expect(removable({ ...keeping, uses: dead })).toEqual([4, 3, 2].map(versionAt));
    expect(livePromotions(dead, now)).toEqual({});
  });

  it('takes nothing that is not named like a version', () => {
    expect(removable({ ...keeping, stored: ['notes', '2026', ...all] })).toHaveLength(4);
  });
});

it('a use replaces the one before it at the same target, and an ended promotion is gone', () => {
  const first = withRollout(withRollout(noUses, 'a', versionAt(1)), '__proto__', versionAt(2));
  expect(Object.entries(withRollout(first, 'a', versionAt(3)).rollingOut)).toEqual([
    ['a', versionAt(3)],
    ['__proto__', versionAt(2)],
  ]);
  const [one, other, same] = [attempt(1), attempt(2), attempt(1, 'other')];
  const begun = [one, other, same].reduce((uses, begins) => withPromotion(uses, begins, now), noUses);
  const ended = withPromotion(begun, one, null);
  // Another's of the same version goes on.
  expect(removable({ ...keeping, uses: ended })).toEqual([4, 3].map(versionAt));
  expect(removable({ ...keeping, uses: withPromotion(ended, same, null) })).toEqual([4, 3, 1].map(versionAt));
  expect(noUses).toEqual({ rollingOut: {}, promoting: {}, removing: [], changes: 0 });
});
