import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  coverageOf,
  dateSlackMs,
  everything,
  isCovered,
  isMet,
  isoText,
  orderOf,
  pagesOf,
  reachOf,
  resumedQuery,
  shifted,
} from '../../../src/feedback/rules/slice.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

const day = 86_400_000;
const base = Date.UTC(2026, 0, 1);
const moments = fc.integer({ min: base, max: base + 60 * day });

/** How a service may understand the bounds of a date filter (service-interface.md: "not shown"). */
interface Rules {
  /** Takes date-times for their dates, at midnight of a zone that many minutes from UTC. */
  coarse: boolean;
  zoneMinutes: number;
  fromIsExclusive: boolean;
}
const rules: fc.Arbitrary<Rules> = fc.record({
  coarse: fc.boolean(),
  zoneMinutes: fc.integer({ min: -12 * 60, max: 14 * 60 }),
  fromIsExclusive: fc.boolean(),
});

/** Bounds as a service with such rules applies them. */
function understood(dateFrom: string | null, dateTo: string | null, { coarse, zoneMinutes, fromIsExclusive }: Rules) {
  const bound = (text: string) => {
    const ms = Date.parse(text);
    if (!coarse) return ms;
    const zone = zoneMinutes * 60_000;
    return Math.floor((ms + zone) / day) * day - zone;
  };
  const from = dateFrom === null ? Number.NEGATIVE_INFINITY : bound(dateFrom);
  const step = fromIsExclusive && dateFrom !== null ? (coarse ? day : 1) : 0;
  return { from: from + step, to: dateTo === null ? Number.POSITIVE_INFINITY : bound(dateTo) };
}

function returned(entries: readonly number[], query: { dateFrom: string | null; dateTo: string | null }, how: Rules) {
  const { from, to } = understood(query.dateFrom, query.dateTo, how);
  return entries.filter((at) => at >= from && at < to);
}

describe('the order of a page', () => {
  it('is learnt from its dates, also when one of them is odd', () => {
    const dates = Array.from({ length: 40 }, (_, index) => isoText(base + index * day));
    expect(orderOf(dates)).toBe('oldest');
    expect(orderOf([...dates].reverse())).toBe('newest');
    expect(orderOf([...dates.slice(0, 20), '1999-01-01T00:00:00.000Z', ...dates.slice(20)])).toBe('oldest');
    expect(orderOf(dates.map((_, index) => dates[(index * 17) % 40] ?? ''))).toBe('mixed');
    expect(orderOf(['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'])).toBeNull();
    expect(orderOf([])).toBeNull();
  });

  it('a page reaches as far as its last entries, whatever a single one of them says', () => {
    const dates = Array.from({ length: 40 }, (_, index) => isoText(base - index * day));
    expect(reachOf(dates, 'newest')).toBe(dates[30]);
    expect(reachOf([...dates, '1000-01-01T00:00:00.000Z'], 'newest')).toBe(dates[31]);
    expect(reachOf([...dates].reverse(), 'oldest')).toBe(dates[9]);
    expect(reachOf(dates, 'mixed')).toBeNull();
    expect(reachOf([], 'newest')).toBeNull();
  });
});

describe('resumedQuery', () => {
  it('leaves no gap: what joins the part read so far, or the wider query, returns all the rest', () => {
    const entries = fc.uniqueArray(moments, { minLength: 1, maxLength: 80 });
    const orders = fc.constantFrom('newest' as const, 'oldest' as const);
    fc.assert(
      fc.property(entries, fc.nat(), orders, rules, (all, cut, order, how) => {
        const sorted = [...all].sort((a, b) => (order === 'newest' ? b - a : a - b));
        const at = sorted[cut % sorted.length] ?? 0;
        const read = sorted.filter((entry) => (order === 'newest' ? entry >= at : entry <= at));
        const rest = sorted.filter((entry) => !read.includes(entry));
        for (const slack of [0, dateSlackMs]) {
          const query = resumedQuery(everything, order, isoText(at), slack);
          const page = returned(sorted, query ?? everything, how);
          if (!isMet(page.map(isoText), order, isoText(at))) {
            expect(slack).toBe(0);
            continue;
          }
          for (const entry of rest) expect(page).toContain(entry);
        }
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('never widens the bounds of the query, and gives up where the order is not that of the dates', () => {
    const query = { ...everything, dateFrom: isoText(base), dateTo: isoText(base + day) };
    expect(resumedQuery(query, 'newest', isoText(base + 3_600_000), 0)).toEqual({
      ...query,
      dateTo: isoText(base + 3_600_001),
    });
    expect(resumedQuery(query, 'newest', isoText(base + 3_600_000), dateSlackMs)).toEqual(query);
    expect(resumedQuery(query, 'oldest', isoText(base + 3_600_000), 0)).toEqual({
      ...query,
      dateFrom: isoText(base + 3_599_999),
    });
    expect(resumedQuery(query, 'mixed', isoText(base), 0)).toBeNull();
    expect(resumedQuery(query, null, isoText(base), 0)).toBeNull();
    expect(resumedQuery(query, 'newest', null, 0)).toBeNull();
  });
});

describe('coverageOf', () => {
  it('claims nothing that a service with other ideas of bounds has left out', () => {
    const entries = fc.uniqueArray(moments, { maxLength: 60 });
    const bound = fc.option(moments.map(isoText), { nil: null });
    fc.assert(
      fc.property(entries, bound, bound, rules, (all, dateFrom, dateTo, how) => {
        const page = returned(all, { dateFrom, dateTo }, how);
        const dates = page.map(isoText).sort();
        const covered = coverageOf({ dateFrom, dateTo }, { oldest: dates[0] ?? null, newest: dates.at(-1) ?? null });
        if (covered === null) return;
        for (const entry of all) if (isCovered(covered, isoText(entry))) expect(page).toContain(entry);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('claims everything without bounds, and nothing for an empty answer to narrow ones', () => {
    const nothing = { oldest: null, newest: null };
    expect(coverageOf(everything, nothing)).toEqual({ from: null, to: null });
    const narrow = { dateFrom: isoText(base), dateTo: isoText(base + day) };
    expect(coverageOf(narrow, nothing)).toBeNull();
    const [oldest, newest] = [isoText(base + 1_000), isoText(base + 2_000)];
    expect(coverageOf(narrow, { oldest, newest })).toEqual({ from: oldest, to: newest });
  });
});

it('a moment stays within the years that a date can be written in', () => {
  for (const [moment, byMs] of [
    ['9999-12-31T23:59:59.999Z', dateSlackMs],
    ['1000-01-01T00:00:00.000Z', -dateSlackMs],
  ] as const) {
    expect(shifted(moment, byMs)).toBe(moment);
    expect(shifted(shifted(moment, byMs), 0)).toBe(moment);
  }
});

it('an empty answer costs a request too', () => {
  expect([0, 1, 100, 101, 250].map(pagesOf)).toEqual([1, 1, 1, 2, 3]);
});
