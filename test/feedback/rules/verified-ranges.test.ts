import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  leastVerified,
  markVerified,
  unverified,
  type VerifiedRange,
} from '../../../src/feedback/rules/pass-bounds.ts';

const day = (number: number) => new Date(Date.UTC(2026, 0, 1 + number)).toISOString();
const bound = fc.option(fc.nat({ max: 40 }).map(day), { nil: null });
const readings = fc.array(fc.record({ from: bound, to: bound, at: fc.nat({ max: 300 }).map(day) }), { maxLength: 30 });

const holds = ({ from, to }: Pick<VerifiedRange, 'from' | 'to'>, at: string) =>
  (from === null || from <= at) && (to === null || at < to);

describe('markVerified', () => {
  it('keeps the ranges without gap or overlap, and for each day the latest reading that covered it', () => {
    fc.assert(
      fc.property(readings, (all) => {
        const ranges = all.reduce<readonly VerifiedRange[]>(markVerified, unverified);
        expect(ranges[0]?.from).toBeNull();
        expect(ranges.at(-1)?.to).toBeNull();
        for (const [index, range] of ranges.entries()) {
          if (index > 0) expect(range.from).toBe(ranges[index - 1]?.to);
        }
        for (let number = -1; number <= 41; number += 1) {
          const at = day(number);
          const latest = all.filter((reading) => holds(reading, at)).map((reading) => reading.at);
          const [range, ...more] = ranges.filter((candidate) => holds(candidate, at));
          expect(more).toEqual([]);
          expect(range?.verifiedUpTo).toBe(latest.sort().at(-1) ?? null);
        }
      }),
    );
  });

  it('stays small: merged ranges stand for the older moment', () => {
    let ranges: readonly VerifiedRange[] = unverified;
    for (let number = 0; number < 500; number += 1) {
      ranges = markVerified(ranges, { from: day(number), to: day(number + 1), at: day(1_000 + (number % 7)) });
    }
    expect(ranges.length).toBeLessThanOrEqual(200);
    expect(ranges.find((range) => holds(range, day(499)))?.verifiedUpTo).toBe(day(1_000 + (499 % 7)));
  });
});

it('the whole is complete as of its oldest range', () => {
  expect(leastVerified([{ verifiedUpTo: day(3) }, { verifiedUpTo: day(1) }])).toBe(day(1));
  expect(leastVerified([{ verifiedUpTo: day(3) }, { verifiedUpTo: null }])).toBeNull();
});
