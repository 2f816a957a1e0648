import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { affordable, costOf, coverRanks } from '../../../src/feedback/rules/plan-slices.ts';

/** A list and some of its places, in ascending order. */
const lists = fc
  .integer({ min: 1, max: 1_500 })
  .chain((total) =>
    fc
      .uniqueArray(fc.nat({ max: total - 1 }), { maxLength: 60 })
      .map((targets) => ({ total, targets: targets.sort((a, b) => a - b) })),
  );

/** The least requests any set of ranges needs: the best first range, and the best for what remains. */
function cheapest(targets: readonly number[]): number {
  const best = new Array<number>(targets.length + 1).fill(0);
  for (let from = targets.length - 1; from >= 0; from -= 1) {
    best[from] = Math.min(
      ...targets.slice(from).map((last, index) => {
        const pages = Math.ceil((last - (targets[from] ?? 0) + 1) / 100);
        return pages + (best[from + index + 1] ?? 0);
      }),
    );
  }
  return best[0] ?? 0;
}

describe('coverRanks', () => {
  it('leaves out no target, stays within the list and keeps its order', () => {
    fc.assert(
      fc.property(lists, ({ targets, total }) => {
        const ranges = coverRanks(targets, total);
        for (const target of targets) {
          expect(ranges.some(({ first, last }) => first <= target && target <= last)).toBe(true);
        }
        expect(ranges.every(({ first, last }) => first >= 0 && first <= last && last < total)).toBe(true);
        expect(ranges.map(({ first }) => first)).toEqual(ranges.map(({ first }) => first).sort((a, b) => a - b));
        expect(ranges.reduce((sum, range) => sum + range.targets, 0)).toBe(targets.length);
      }),
    );
  });

  it('costs no more than any other cover, and never more than the whole list', () => {
    fc.assert(
      fc.property(lists, ({ targets, total }) => {
        const cost = costOf(coverRanks(targets, total));
        expect(cost).toBe(cheapest(targets));
        expect(cost).toBeLessThanOrEqual(Math.ceil(total / 100));
      }),
    );
  });

  it('fills a range with what surrounds its target', () => {
    expect(coverRanks([500], 1_000)).toEqual([{ first: 455, last: 544, targets: 1 }]);
    expect(coverRanks([0], 10)).toEqual([{ first: 0, last: 9, targets: 1 }]);
    expect(coverRanks([], 1_000)).toEqual([]);
  });

  it('reads ranges that touch as one', () => {
    expect(coverRanks([0, 99, 100, 199], 200)).toEqual([{ first: 0, last: 199, targets: 4 }]);
  });
});

describe('affordable', () => {
  it('takes what fits, most targets first, and never more', () => {
    const budgets = fc.nat({ max: 20 });
    fc.assert(
      fc.property(lists, budgets, ({ targets, total }, requests) => {
        const all = coverRanks(targets, total);
        const chosen = affordable(all, requests);
        expect(costOf(chosen)).toBeLessThanOrEqual(requests);
        expect(all.filter((range) => chosen.includes(range))).toEqual(chosen);
        if (costOf(all) <= requests) expect(chosen).toEqual(all);
      }),
    );
    const ranges = coverRanks([5, 500, 501, 502, 900, 901], 1_000);
    expect(affordable(ranges, 2).map((range) => range.targets)).toEqual([3, 2]);
  });
});
