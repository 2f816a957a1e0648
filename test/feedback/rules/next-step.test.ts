import { describe, expect, it } from 'vitest';
import { nextStep } from '../../../src/feedback/rules/next-step.ts';
import type { PassOutline, PassSlice } from '../../../src/feedback/rules/slice.ts';
import { decided, type KnownFacts, outline, readSlice } from '../../tools/feedback/decided.ts';

const day = (number: number) => `2026-11-${String(number).padStart(2, '0')}T00:00:00.000Z`;
const open = readSlice({ stage: 'open', statuses: ['pending', 'in_progress'] });
const nothingMissing = () => ({ targets: [], list: { total: 0, momentAt: () => '' } });
/** One entry is missing among 1,000, which are an hour apart. */
const oneMissing = () => ({
  targets: [{ at: day(15), place: 500 }],
  list: { total: 1_000, momentAt: (place: number) => day(place < 500 ? 14 : 16) },
});

function next(pass: Partial<PassOutline>, slices: PassSlice[], known: KnownFacts = {}) {
  const last = slices.findLast(({ outcome }) => outcome === 'read') ?? readSlice();
  return decided((facts) => nextStep(facts, outline(pass), last), {
    slices: () => slices,
    datesAreCoarse: () => false,
    ...known,
  });
}

const stages = (slices: readonly { stage: string }[]) => slices.map(({ stage }) => stage);

describe('a pass with slices left', () => {
  it.each(['planned', 'reading', 'checking'] as const)(
    'goes on with one that is %s, and needs nothing else',
    async (outcome) => {
      const { result, needed } = await next({ pass: 'review' }, [
        open,
        readSlice({ slice: 2, stage: 'look', outcome }),
      ]);
      expect(result).toEqual({ coarseDates: null, dropped: [], slices: [], complete: false });
      expect(needed).toEqual(['datesAreCoarse', 'slices']);
    },
  );

  it('drops narrow windows that have not begun once the service takes date-times for dates', async () => {
    const planned = readSlice({ slice: 2, stage: 'look', outcome: 'planned', dateFrom: day(1), dateTo: day(2) });
    const facts = { datesAreCoarse: () => true, missing: nothingMissing };
    const { result } = await next({ pass: 'review' }, [open, planned], facts);
    expect(result).toMatchObject({ dropped: ['look', 'again'], slices: [], complete: true });
  });
});

describe('a sweep', () => {
  it('is complete when nothing is missing, and learns how the service takes dates from the start', async () => {
    const { result, needed } = await next({}, [readSlice()], { missing: nothingMissing });
    expect(result).toEqual({ coarseDates: false, dropped: [], slices: [], complete: true });
    expect(needed).toEqual(['slices', 'missing']);
  });

  it('looks once more for what is missing, in a narrow window, then in a wide one', async () => {
    const first = await next({}, [readSlice()], { missing: oneMissing });
    expect(first.result.slices).toMatchObject([{ stage: 'again', statuses: null, expectedPages: 1 }]);
    const uncovering = readSlice({ slice: 2, stage: 'again', dateFrom: day(14), dateTo: day(16), oldestSeen: day(16) });
    const facts = { missing: oneMissing, entriesWithin: () => 90, leftOutBy: () => 0 };
    const second = await next({}, [readSlice(), uncovering], facts);
    expect(second.result.slices).toMatchObject([{ stage: 'wide', dateFrom: day(13), expectedPages: 1 }]);
    expect(second.needed).toContain('entriesWithin');
    const third = await next({}, [readSlice(), uncovering, readSlice({ slice: 3, stage: 'wide' })], facts);
    expect(third.result.complete).toBe(true);
  });

  it('reads everything instead of wide windows that would cost as much', async () => {
    const facts = { datesAreCoarse: () => true, missing: oneMissing, entriesWithin: () => 1_000 };
    const resumed = readSlice({ slice: 2, dateTo: day(12), joinsAt: day(12) });
    const { result } = await next({}, [readSlice({ outcome: 'cut' }), resumed], facts);
    expect(result.slices).toMatchObject([{ stage: 'wide', dateFrom: null, dateTo: null, expectedPages: 10 }]);
  });

  it.each<[undatedPlace: PassSlice['undatedPlace'], asked: boolean]>([
    ['first', false],
    ['elsewhere', true],
    [null, true],
  ])('whose walk was cut asks for entries without a date unless they came first (%s)', async (undatedPlace, asked) => {
    const cut = readSlice({ outcome: 'cut', undatedPlace });
    const resumed = readSlice({ slice: 2, dateTo: day(12), joinsAt: day(12) });
    const { result } = await next({}, [cut, resumed], {
      missing: nothingMissing,
      entriesBySourceAndStatus: () => new Map([['agent pending', 250]]),
    });
    expect(stages(result.slices)).toEqual(asked ? Array.from({ length: 16 }, () => 'undated') : []);
    if (asked) expect(result.slices.filter(({ expectedPages }) => expectedPages === 3)).toHaveLength(1);
  });
});

describe('a review', () => {
  it('that reads everything is complete at once', async () => {
    const { result, needed } = await next({ pass: 'review' }, [readSlice()]);
    expect(result.complete).toBe(true);
    expect(needed).toEqual(['datesAreCoarse', 'slices']);
  });

  it.each<[entries: number, windows: number]>([
    [1_000, 1],
    [100, 0],
  ])(
    'looks among the closed entries for what vanished, as long as a full fetch of %i would not cost less',
    async (entries, windows) => {
      const facts = { missing: oneMissing, entries: () => entries };
      const { result } = await next({ pass: 'review', pages: 1 }, [open], facts);
      expect(stages(result.slices)).toEqual(Array.from({ length: windows }, () => 'look'));
      expect(result.complete).toBe(windows === 0);
    },
  );

  it('looks among all closed entries where date-times are dates and that is cheaper', async () => {
    const facts = { datesAreCoarse: () => true, missing: oneMissing, entriesWithin: () => 2_000 };
    const { result } = await next({ pass: 'review' }, [open], facts);
    expect(result.slices).toMatchObject([{ stage: 'look', statuses: ['resolved', 'dismissed'], expectedPages: 10 }]);
  });

  it('does not count its pages while nothing is missing', async () => {
    expect((await next({ pass: 'review' }, [open], { missing: nothingMissing })).needed).not.toContain('entries');
  });
});

describe('an incremental pass', () => {
  const bounds = { pass: 'incremental', dateFrom: day(19), dateTo: null } as const;
  const read = readSlice({ ...bounds, stage: 'read' });
  const facts = { watermark: () => day(20), entriesWithin: () => 3 };

  it.each<[what: string, oldestSeen: string | null, more: KnownFacts, begins: string | null]>([
    ['its oldest entry is later than the watermark', day(21), {}, day(17)],
    ['nothing came', null, {}, day(17)],
    ['it reached the watermark', day(20), {}, null],
    ['there is no watermark', day(21), { watermark: () => null }, null],
    ['nothing is stored there', day(21), { entriesWithin: () => 0 }, null],
  ])('begins earlier only if it should have met an entry: %s', async (_, oldestSeen, more, begins) => {
    const slice = { ...read, oldestSeen, newestSeen: oldestSeen };
    const { result } = await next(bounds, [slice], { ...facts, ...more });
    expect(result.slices.map(({ dateFrom }) => dateFrom)).toEqual(begins === null ? [] : [begins]);
    expect(result.complete).toBe(begins === null);
  });

  it('begins earlier once only', async () => {
    const wider = readSlice({ slice: 2, dateFrom: day(17), oldestSeen: day(21) });
    expect((await next(bounds, [read, wider], facts)).result.complete).toBe(true);
  });

  it('without bounds needs no fact about the entries', async () => {
    const { needed } = await next({ pass: 'incremental' }, [readSlice()]);
    expect(needed).toEqual(['datesAreCoarse', 'slices']);
  });
});

describe('the dates of the service', () => {
  const window = {
    stage: 'again',
    dateFrom: day(10),
    dateTo: day(12),
    oldestSeen: day(10),
    newestSeen: day(11),
  } as const;

  it.each<[what: string, slice: Partial<PassSlice>, leftOut: number | null, coarse: boolean]>([
    ['it returned an earlier entry', { oldestSeen: day(9) }, null, true],
    ['it returned a later entry', { newestSeen: day(13) }, null, true],
    ['it returned nothing', { entries: 0 }, null, true],
    ['it left out entries at one end', {}, 3, true],
    ['it left out a few, which may be deleted', {}, 2, false],
    ['it returned no open entry, since all were closed', { stage: 'open', entries: 0 }, null, false],
    ['its margins are wide', { stage: 'wide', oldestSeen: day(9) }, null, false],
    ['it has no bounds', { dateFrom: null, dateTo: null }, null, false],
  ])('are coarse when a slice shows it: %s', async (_, slice, leftOut, coarse) => {
    const last = readSlice({ slice: 2, ...window, ...slice });
    const planned = readSlice({ slice: 3, outcome: 'planned' });
    const facts = leftOut === null ? {} : { leftOutBy: () => leftOut };
    const { result } = await next({ pass: 'review' }, [readSlice(), last, planned], facts);
    expect(result.coarseDates).toBe(coarse ? true : null);
  });
});
