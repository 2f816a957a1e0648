import { describe, expect, it } from 'vitest';
import { afterCut, afterPage, type PageReading } from '../../../src/feedback/rules/next-step.ts';
import { type PassSlice, RepeatedCursor } from '../../../src/feedback/rules/slice.ts';
import { decided, outline, passStart, readSlice } from '../../tools/feedback/decided.ts';

const day = (number: number) => `2026-11-${String(number).padStart(2, '0')}T00:00:00.000Z`;

/** The last page of a slice, of two entries. */
function page(over: Partial<PageReading> = {}): PageReading {
  return {
    moments: [day(10), day(9)],
    sent: 2,
    hasMore: false,
    mayCheck: true,
    cursor: 'c',
    askedAt: passStart,
    digest: 'e',
    isNew: true,
    repeats: 0,
    ...over,
  };
}

const begun = (over: Partial<PassSlice> = {}) => readSlice({ outcome: 'reading', ...over });

describe('afterPage', () => {
  it('notes what the page shows and needs no fact while more follows', () => {
    const { result, needed } = decided(afterPage(outline({}), begun(), page({ hasMore: true, repeats: 1 })));
    expect(needed).toEqual([]);
    expect(result.resumed).toBeNull();
    expect(result.slice).toMatchObject({
      outcome: 'reading',
      pages: 2,
      entries: 4,
      repeats: 1,
      lastCursor: 'c',
      lastDigest: 'e',
    });
  });

  it.each<[what: string, pass: 'sweep' | 'review', pagesBefore: number, needed: string[], outcome: string]>([
    ['a sweep of one page', 'sweep', 0, [], 'read'],
    ['a first sweep of two pages', 'sweep', 1, ['everSwept'], 'read'],
    ['a first sweep of ten pages', 'sweep', 9, [], 'checking'],
    ['a review', 'review', 9, [], 'read'],
  ])('decides whether the last page is requested once more: %s', (_, pass, pages, needed, outcome) => {
    const decision = decided(afterPage(outline({ pass }), begun({ pages }), page()), { everSwept: () => false });
    expect(decision.needed).toEqual(needed);
    expect(decision.result.slice.outcome).toBe(outcome);
    expect(decision.result.unshifted).toBe(outcome === 'read' && pages === 0);
  });

  it('checks a later sweep of two pages', () => {
    const { result } = decided(afterPage(outline({}), begun(), page()), { everSwept: () => true });
    expect(result.slice.outcome).toBe('checking');
  });

  it('refuses to go in circles, and forgets barren pages when one brings something', () => {
    const barren = page({ hasMore: true, isNew: false });
    expect(() => decided(afterPage(outline({}), begun({ barrenPages: 5 }), barren))).toThrow(RepeatedCursor);
    const { result } = decided(afterPage(outline({}), begun({ barrenPages: 5 }), page({ hasMore: true })));
    expect(result.slice.barrenPages).toBe(0);
  });

  it('reads a wider slice when the first page does not join the slice it continues', () => {
    const resumed = begun({ slice: 2, joinsAt: day(12), dateTo: day(12), oldestSeen: null, newestSeen: null });
    const { result, needed } = decided(afterPage(outline({}), resumed, page({ hasMore: true })), {
      slices: () => [begun({ dateTo: day(30) }), resumed],
    });
    expect(needed).toEqual(['slices']);
    expect(result.slice.outcome).toBe('cut');
    expect(result.resumed).toMatchObject({
      dateTo: '2026-11-14T00:00:00.001Z',
      joinsAt: day(12),
      slackMs: 172_800_000,
    });
  });
});

describe('afterCut', () => {
  it('continues by date from where the slice has come to', () => {
    const { result, needed } = decided(afterCut(begun({ reached: day(9) })));
    expect(needed).toEqual([]);
    expect(result.slice.outcome).toBe('cut');
    expect(result.resumed).toEqual({
      stage: 'read',
      source: null,
      statuses: null,
      dateFrom: null,
      dateTo: '2026-11-09T00:00:00.001Z',
      expectedPages: null,
      order: 'newest',
      joinsAt: day(9),
      slackMs: 0,
    });
  });

  it.each<[what: string, slice: Partial<PassSlice>, reason: string]>([
    ['the entries are in no order', { order: 'mixed' }, 'not sent in the order of their dates'],
    ['nothing dated was seen', { reached: null }, 'not sent in the order of their dates'],
    ['it came no further than the slice before', { joinsAt: day(9), reached: day(9) }, 'before they lead past'],
  ])('gives up when %s', (_, slice, reason) => {
    expect(() => decided(afterCut(begun(slice)))).toThrow(reason);
  });

  it('starts a query for entries without a date over, three times', () => {
    const query = { stage: 'undated', source: 'agent', statuses: ['pending'] } as const;
    const cuts = (number: number) => Array.from({ length: number }, () => begun({ ...query, outcome: 'cut' }));
    const other = begun({ ...query, source: 'contextual', outcome: 'cut' });
    const { result } = decided(afterCut(begun(query)), { slices: () => [other, ...cuts(2)] });
    expect(result.resumed).toMatchObject({ ...query, joinsAt: null });
    expect(() => decided(afterCut(begun(query)), { slices: () => cuts(3) })).toThrow('cursors die before');
  });
});
