import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoText } from '../../../src/feedback/rules/slice.ts';
import {
  changesCountedSince,
  type DatedWindow,
  type SpareQuestion,
  worthOf,
  worthReading,
} from '../../../src/feedback/rules/spare-slices.ts';

const hour = 3_600_000;
const day = 24 * hour;
const at = '2026-11-21T12:00:00.000Z';
const ago = (ms: number) => isoText(Date.parse(at) - ms);
const observedMs = 28 * day;

/** A window of 90 entries of the day that many days ago, last seen an hour later. */
function dayWindow(days: number, more: Partial<DatedWindow> = {}): DatedWindow {
  const oldest = ago(days * day);
  const newest = ago(days * day - 20 * hour);
  return { oldest, newest, entries: 90, leastSeen: ago(2 * hour), changes: 0, ...more };
}

function question(windows: DatedWindow[], more: Partial<SpareQuestion> = {}): SpareQuestion {
  const ranges = [{ from: null, to: null, verifiedUpTo: ago(2 * day) }];
  return { windows, ranges, at, restMs: hour, observedMs, read: [], coarse: false, ...more };
}

const chosen = (asked: SpareQuestion, count = 10) =>
  worthReading(asked, count).map(({ dateFrom, dateTo }) =>
    asked.windows.findIndex(({ oldest, newest }) => (dateFrom ?? '') <= oldest && newest < (dateTo ?? '9')),
  );

describe('which windows are read again first', () => {
  const [old, middle, recent] = [dayWindow(30), dayWindow(20), dayWindow(10)];

  it('those that change most, of equally old ones', () => {
    const windows = [old, { ...middle, changes: 3 }, { ...recent, changes: 40 }];
    expect(chosen(question(windows))).toEqual([2, 1, 0]);
  });

  it('those that were complete longest ago, of equally changing ones', () => {
    const ranges = [
      { from: null, to: middle.oldest, verifiedUpTo: ago(3 * day) },
      { from: middle.oldest, to: recent.oldest, verifiedUpTo: ago(9 * day) },
      { from: recent.oldest, to: null, verifiedUpTo: ago(5 * day) },
    ];
    const windows = [old, middle, recent].map((window) => ({ ...window, leastSeen: ago(hour) }));
    expect(chosen(question(windows, { ranges }))).toEqual([1, 2, 0]);
  });

  it('takes a window that was never complete for as old as its entry that was seen longest ago', () => {
    const ranges = [{ from: null, to: null, verifiedUpTo: null }];
    const windows = [{ ...old, leastSeen: ago(hour / 2) }, { ...middle, leastSeen: ago(2 * hour) }, recent];
    expect(chosen(question([windows[0] ?? old, windows[1] ?? middle], { ranges }))).toEqual([1]);
  });

  it('leaves alone what was checked within the rest time, or read within it without becoming complete', () => {
    expect(chosen(question([old], { restMs: 3 * day }))).toEqual([]);
    expect(
      chosen(question([old, middle], { read: [{ dateFrom: null, dateTo: isoText(Date.parse(middle.oldest) + 1) }] })),
    ).toEqual([1]);
  });

  it('takes at most as many as asked', () => {
    expect(worthReading(question([old, middle, recent]), 2)).toHaveLength(2);
  });
});

describe('the queries', () => {
  const windows = [dayWindow(30), dayWindow(20), dayWindow(10)];

  it('reach to the neighbours, and to both ends of time, so that nothing lies between them', () => {
    const slices = worthReading(question(windows), 10).sort((a, b) =>
      (a.dateFrom ?? '') < (b.dateFrom ?? '') ? -1 : 1,
    );
    expect(slices.map(({ dateFrom, dateTo }) => [dateFrom, dateTo])).toEqual([
      [null, isoText(Date.parse(ago(20 * day)) + 1)],
      [isoText(Date.parse(ago(30 * day - 20 * hour)) - 1), isoText(Date.parse(ago(10 * day)) + 1)],
      [isoText(Date.parse(ago(20 * day - 20 * hour)) - 1), null],
    ]);
    expect(
      slices.every(
        ({ stage, statuses, source, expectedPages }) =>
          stage === 'read' && statuses === null && source === null && expectedPages === 1,
      ),
    ).toBe(true);
  });

  it('have margins where the service takes date-times for their dates', () => {
    const [slice] = worthReading(question(windows.slice(0, 1), { coarse: true }), 1);
    expect(slice).toMatchObject({
      dateFrom: ago(32 * day),
      dateTo: isoText(Date.parse(ago(30 * day - 20 * hour)) + 2 * day + 1),
    });
  });
});

describe('what a reading is worth', () => {
  const counts = fc.record({ entries: fc.integer({ min: 1, max: 90 }), changes: fc.integer({ min: 0, max: 500 }) });
  const age = fc.integer({ min: 1, max: 400 * day });

  it('grows with time, never beyond what being right all the time is worth', () => {
    fc.assert(
      fc.property(counts, age, age, (window, a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)].map((ms) => worthOf(window, ms, observedMs));
        expect(less).toBeLessThanOrEqual((more ?? 0) * (1 + 1e-9));
        expect(more).toBeGreaterThanOrEqual(0);
        expect(more).toBeLessThanOrEqual(((window.entries ** 2 * observedMs) / (window.changes + 0.5)) * (1 + 1e-9));
      }),
    );
  });

  it('grows from millisecond to millisecond', () => {
    const window = { entries: 90, changes: 3 };
    expect(worthOf(window, 15, observedMs)).toBeLessThan(worthOf(window, 16, observedMs));
  });

  it('is nothing just after one', () => {
    expect(worthOf({ entries: 90, changes: 10 }, 0, observedMs)).toBe(0);
  });
});

describe('changes', () => {
  it('are counted over 28 days, from the first sweep on, at least a day', () => {
    expect(changesCountedSince(at, ago(100 * day))).toEqual({ since: ago(28 * day), observedMs: 28 * day });
    expect(changesCountedSince(at, ago(5 * day))).toEqual({ since: ago(5 * day), observedMs: 5 * day });
    expect(changesCountedSince(at, ago(hour))).toEqual({ since: ago(hour), observedMs: day });
  });
});
