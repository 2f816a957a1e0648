import { describe, expect, it } from 'vitest';
import {
  livePromotions,
  nothingInUse,
  prunable,
  withPromotion,
  withRollout,
} from '../../../src/exports/store/retention.ts';

const now = new Date('2026-12-24T00:00:00Z');
const versionAt = (day: number) => `202612${String(day).padStart(2, '0')}T000000Z-${String(day).padStart(12, '0')}`;
const all = [3, 1, 5, 2, 4].map(versionAt);
const attempt = (day: number, id = 'one') => ({ version: versionAt(day), id });
const facts = { stored: all, current: null, before: [], hold: null, rollouts: {}, inUse: nothingInUse, now };
const holdAt = (version: string) => ({ version, since: now.toISOString(), reason: null, waiting: null });

describe('prunable', () => {
  it('removes the oldest beyond the number to keep', () => {
    expect(prunable(facts, 3)).toEqual([2, 1].map(versionAt));
    expect(prunable(facts, 5)).toEqual([]);
    expect(prunable({ ...facts, stored: [] }, 1)).toEqual([]);
  });

  it('keeps needed versions in addition to the newest', () => {
    expect(prunable({ ...facts, current: versionAt(1) }, 2)).toEqual([3, 2].map(versionAt));
    expect(prunable({ ...facts, hold: holdAt(versionAt(2)), rollouts: { t: versionAt(3) } }, 1)).toEqual(
      [4, 1].map(versionAt),
    );
  });

  it('keeps those in service last, as many as it keeps of the newest: previews push none of them out', () => {
    const previewed = { ...facts, current: versionAt(2), before: [versionAt(1)] };
    expect(prunable(previewed, 2)).toEqual([versionAt(3)]);
    expect(prunable(previewed, 1)).toEqual([4, 3, 1].map(versionAt));
  });

  it('keeps what is being rolled out or promoted, until the promotion counts as abandoned', () => {
    const inUse = withRollout(nothingInUse, 'constructor', versionAt(1));
    expect(prunable({ ...facts, inUse }, 1)).not.toContain(versionAt(1));
    const hours = (n: number) => new Date(now.getTime() - n * 3_600_000);
    const alive = withPromotion(inUse, attempt(2), hours(23));
    expect(prunable({ ...facts, inUse: alive }, 1)).toEqual([4, 3].map(versionAt));
    const dead = withPromotion(inUse, attempt(2), hours(25));
    expect(prunable({ ...facts, inUse: dead }, 1)).toEqual([4, 3, 2].map(versionAt));
    expect(livePromotions(dead, now)).toEqual({});
  });

  it('leaves names that are no version alone', () => {
    expect(prunable({ ...facts, stored: ['notes', '2026', ...all] }, 1)).toHaveLength(4);
  });
});

it('a rollout replaces the one before at the same target, and an ended promotion is gone', () => {
  const first = withRollout(withRollout(nothingInUse, 'a', versionAt(1)), '__proto__', versionAt(2));
  expect(Object.entries(withRollout(first, 'a', versionAt(3)).rollingOut)).toEqual([
    ['a', versionAt(3)],
    ['__proto__', versionAt(2)],
  ]);
  const [one, other, same] = [attempt(1), attempt(2), attempt(1, 'other')];
  const begun = [one, other, same].reduce((inUse, begins) => withPromotion(inUse, begins, now), nothingInUse);
  const ended = withPromotion(begun, one, null);
  // Another attempt with the same version goes on.
  expect(prunable({ ...facts, inUse: ended }, 1)).toEqual([4, 3].map(versionAt));
  expect(prunable({ ...facts, inUse: withPromotion(ended, same, null) }, 1)).toEqual([4, 3, 1].map(versionAt));
  expect(nothingInUse).toEqual({ rollingOut: {}, promoting: {}, removing: [], changes: 0 });
});
