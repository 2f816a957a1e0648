import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boundsOfPass,
  boundsProblem,
  leastVerified,
  markVerified,
  unverified,
  type VerifiedRange,
} from '../../../src/feedback/rules/sync.ts';

const watermark = '2026-11-21T08:31:07.250Z';

describe('boundsOfPass', () => {
  it('reads everything in a sweep, whatever the watermark', () => {
    expect(boundsOfPass({ pass: 'sweep', watermark })).toEqual({ dateFrom: null, dateTo: null, reason: 'everything' });
  });

  it('begins an incremental pass a day before the watermark', () => {
    expect(boundsOfPass({ pass: 'incremental', watermark })).toEqual({
      dateFrom: '2026-11-20T08:31:07.250Z',
      dateTo: null,
      reason: 'from the watermark 2026-11-21T08:31:07.250Z less 24 h',
    });
  });

  it('reads everything while there is no watermark', () => {
    expect(boundsOfPass({ pass: 'incremental', watermark: null })).toMatchObject({ dateFrom: null, dateTo: null });
  });

  it.each(['sweep', 'incremental', 'review'] as const)('puts the bounds that were asked for first in a %s', (pass) => {
    expect(boundsOfPass({ pass, watermark, from: '2026-01-01', to: '2026-02-01T00:00:00+01:00' })).toEqual({
      dateFrom: '2026-01-01T00:00:00.000Z',
      dateTo: '2026-01-31T23:00:00.000Z',
      reason: 'from 2026-01-01T00:00:00.000Z as asked, before 2026-01-31T23:00:00.000Z',
    });
  });

  it('keeps the planned beginning when only the end was asked for', () => {
    const plan = boundsOfPass({ pass: 'incremental', watermark, to: '2026-11-21' });
    expect(plan).toMatchObject({ dateFrom: '2026-11-20T08:31:07.250Z', dateTo: '2026-11-21T00:00:00.000Z' });
  });

  it('never plans an end before the beginning', () => {
    const plan = boundsOfPass({ pass: 'incremental', watermark, to: '2026-06-01' });
    expect(plan).toMatchObject({ dateFrom: null, dateTo: '2026-06-01T00:00:00.000Z' });
  });
});

describe('boundsProblem', () => {
  it.each([
    {},
    { from: '2026-01-01' },
    { to: '2026-01-01T10:00:00Z' },
    { from: '2026-01-01', to: '2026-01-01T00:00:01' },
    { from: '2026-01-01T00:00:00+02:00', to: '2026-01-01' },
  ])('accepts %j', (bounds) => {
    expect(boundsProblem(bounds)).toBeNull();
  });

  it.each([
    [{ from: 'yesterday' }, 'from', 'yesterday', 'ISO 8601'],
    [{ from: '2026-02-30', to: '2026-03-01' }, 'from', '2026-02-30', 'ISO 8601'],
    [{ from: '2026-01-01', to: '01.02.2026' }, 'to', '01.02.2026', 'ISO 8601'],
    [{ to: '' }, 'to', '', 'ISO 8601'],
    [{ from: '2026-01-02', to: '2026-01-01' }, 'to', '2026-01-01', 'where the range begins'],
    [{ from: '2026-01-01', to: '2026-01-01T00:00:00Z' }, 'to', '2026-01-01T00:00:00Z', 'where the range begins'],
    [
      { from: '2026-01-01', to: '2026-01-01T00:30:00+01:00' },
      'to',
      '2026-01-01T00:30:00+01:00',
      'where the range begins',
    ],
  ])('names the field of %j', (bounds, field, held, words) => {
    const problem = boundsProblem(bounds);
    expect(problem).toMatchObject({ field, held });
    expect(problem?.problem).toContain(words);
  });
});

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
