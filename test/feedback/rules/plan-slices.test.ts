import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  edgesOf,
  expectedPagesOf,
  firstSlices,
  lookFor,
  lookWide,
  undatedSlices,
} from '../../../src/feedback/rules/plan-slices.ts';
import { dateSlackMs, isoText } from '../../../src/feedback/rules/slice.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

const counts = { stored: 25_000, inBounds: 25_000, open: 750, everSwept: true };
const unbounded = { dateFrom: null, dateTo: null };
const base = Date.UTC(2026, 0, 1);

describe('firstSlices', () => {
  it('is one walk for a sweep, whose cost is known once one has completed', () => {
    const [slice, ...more] = firstSlices('sweep', unbounded, counts).slices;
    expect(more).toEqual([]);
    expect(slice).toEqual({
      stage: 'read',
      dateFrom: null,
      dateTo: null,
      source: null,
      statuses: null,
      expectedPages: 250,
    });
    expect(firstSlices('sweep', unbounded, { ...counts, everSwept: false }).slices[0]?.expectedPages).toBeNull();
  });

  it('is what is new for an incremental pass', () => {
    const bounds = { dateFrom: isoText(base), dateTo: null };
    expect(firstSlices('incremental', bounds, { ...counts, inBounds: 130 }).slices).toMatchObject([
      { stage: 'read', ...bounds, expectedPages: 2 },
    ]);
  });

  it('is the open statuses for a review', () => {
    expect(firstSlices('review', unbounded, counts).slices).toMatchObject([
      { stage: 'open', statuses: ['pending', 'in_progress'], expectedPages: 8 },
    ]);
  });

  it('is everything for a review of a project whose entries are all open, are few, or are none', () => {
    const allOpen = firstSlices('review', unbounded, { ...counts, open: 24_950 });
    expect(allOpen.slices).toMatchObject([{ stage: 'read', statuses: null, expectedPages: 250 }]);
    const small = firstSlices('review', unbounded, { stored: 195, inBounds: 195, open: 6, everSwept: true });
    expect(small.slices).toMatchObject([{ stage: 'read', statuses: null, expectedPages: 2 }]);
    const empty = firstSlices('review', unbounded, { stored: 0, inBounds: 0, open: 0, everSwept: false });
    expect(empty.slices).toMatchObject([{ stage: 'read', expectedPages: null }]);
  });
});

describe('the windows of a review', () => {
  /** Entries a minute apart, each stored as open or closed, some of them closed since. */
  const histories = fc
    .array(fc.record({ heldOpen: fc.boolean(), closedSince: fc.boolean() }), { minLength: 1, maxLength: 1_200 })
    .map((entries) => entries.map((entry, index) => ({ ...entry, at: base + index * 60_000 })));

  it('contain every entry that has vanished from the open ones, and with those cost no more than everything', () => {
    fc.assert(
      fc.property(histories, (entries) => {
        const isTarget = (entry: (typeof entries)[number]) => entry.heldOpen && entry.closedSince;
        const list = entries.filter((entry) => !entry.heldOpen || entry.closedSince);
        const targets = list.flatMap((entry, place) => (isTarget(entry) ? [{ at: isoText(entry.at), place }] : []));
        const asked = new Set(edgesOf(targets, list.length));
        const momentAt = (place: number) => {
          expect(asked.has(place)).toBe(true);
          return isoText(list[place]?.at ?? Number.NaN);
        };
        const slices = lookFor('look', targets, { total: list.length, momentAt });
        for (const { at } of targets) {
          expect(slices.some(({ dateFrom, dateTo }) => (dateFrom ?? '') < at && at < (dateTo ?? ''))).toBe(true);
        }
        const cost = expectedPagesOf(slices) ?? Number.NaN;
        expect(cost).toBeLessThanOrEqual(Math.ceil(list.length / 100));
        // What the open ones have cost is gone: the windows get what a full fetch would have left.
        const open = entries.filter((entry) => entry.heldOpen && !entry.closedSince).length;
        const openPages = Math.max(1, Math.ceil(open / 100));
        const full = Math.ceil(entries.length / 100);
        const left = Math.max(0, full - openPages);
        const within = lookFor('look', targets, { total: list.length, momentAt }, left);
        expect(openPages + (expectedPagesOf(within) ?? 0)).toBeLessThanOrEqual(Math.max(full, openPages));
        if (cost <= left) expect(within).toEqual(slices);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('cost a request for each page of what changed', () => {
    const list = { total: 25_000, momentAt: (place: number) => isoText(base + place * 60_000) };
    const recent = Array.from({ length: 125 }, (_, index) => 23_000 + index * 15);
    const elsewhere = [100, 5_000, 12_000, 18_000];
    const targets = [...elsewhere, ...recent].map((place) => ({ at: list.momentAt(place), place }));
    expect(expectedPagesOf(lookFor('look', targets, list))).toBe(22);
  });
});

describe('lookWide', () => {
  it('has two days on both sides of every moment, and no two windows that overlap', () => {
    const hours = fc.uniqueArray(fc.nat({ max: 5_000 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(hours, (numbers) => {
        const moments = numbers.sort((a, b) => a - b).map((hour) => isoText(base + hour * 3_600_000));
        const windows = lookWide(moments).reverse();
        for (const at of moments) {
          const [low, high] = [isoText(Date.parse(at) - dateSlackMs), isoText(Date.parse(at) + dateSlackMs)];
          expect(
            windows.filter((window) => (window.dateFrom ?? '') <= low && high < (window.dateTo ?? '')),
          ).toHaveLength(1);
        }
        for (const [index, window] of windows.entries()) {
          if (index > 0) expect((windows[index - 1]?.dateTo ?? '') < (window.dateFrom ?? '')).toBe(true);
        }
      }),
    );
  });
});

it('undatedSlices asks for each known source and status once', () => {
  const slices = undatedSlices((source, status) => (source === 'agent' && status === 'pending' ? 250 : 0));
  expect(slices).toHaveLength(16);
  expect(new Set(slices.map(({ source, statuses }) => `${source} ${statuses}`)).size).toBe(16);
  expect(expectedPagesOf(slices)).toBe(18);
  expect(expectedPagesOf(slices.map((slice) => ({ ...slice, expectedPages: null })))).toBeNull();
});
