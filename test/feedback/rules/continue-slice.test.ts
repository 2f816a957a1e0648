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
  it('notes what the page shows and needs no fact while more follows', async () => {
    const { result, needed } = await decided((facts) =>
      afterPage(facts, outline({}), begun(), page({ hasMore: true, repeats: 1 })),
    );
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
  ])('decides whether the last page is requested once more: %s', async (_, pass, pages, needed, outcome) => {
    const decision = await decided((facts) => afterPage(facts, outline({ pass }), begun({ pages }), page()), {
      everSwept: () => false,
    });
    expect(decision.needed).toEqual(needed);
    expect(decision.result.slice.outcome).toBe(outcome);
    expect(decision.result.unshifted).toBe(outcome === 'read' && pages === 0);
  });

  it('checks a later sweep of two pages', async () => {
    const { result } = await decided((facts) => afterPage(facts, outline({}), begun(), page()), {
      everSwept: () => true,
    });
    expect(result.slice.outcome).toBe('checking');
  });

  it('refuses to go in circles, and forgets barren pages when one brings something', async () => {
    const barren = page({ hasMore: true, isNew: false });
    await expect(decided((facts) => afterPage(facts, outline({}), begun({ barrenPages: 5 }), barren))).rejects.toThrow(
      RepeatedCursor,
    );
    const { result } = await decided((facts) =>
      afterPage(facts, outline({}), begun({ barrenPages: 5 }), page({ hasMore: true })),
    );
    expect(result.slice.barrenPages).toBe(0);
  });

  it('reads a wider slice when the first page does not join the slice it continues', async () => {
    const resumed = begun({ slice: 2, joinsAt: day(12), dateTo: day(12), oldestSeen: null, newestSeen: null });
    const { result, needed } = await decided(
      (facts) => afterPage(facts, outline({}), resumed, page({ hasMore: true })),
      {
        slices: () => [begun({ dateTo: day(30) }), resumed],
      },
    );
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
  it('continues by date from where the slice has come to', async () => {
    const { result, needed } = await decided((facts) => afterCut(facts, begun({ reached: day(9) })));
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
  ])('gives up when %s', async (_, slice, reason) => {
    await expect(decided((facts) => afterCut(facts, begun(slice)))).rejects.toThrow(reason);
  });

  it('starts a query for entries without a date over, three times', async () => {
    const query = { stage: 'undated', source: 'agent', statuses: ['pending'] } as const;
    const cuts = (number: number) => Array.from({ length: number }, () => begun({ ...query, outcome: 'cut' }));
    const other = begun({ ...query, source: 'contextual', outcome: 'cut' });
    const { result } = await decided((facts) => afterCut(facts, begun(query)), { slices: () => [other, ...cuts(2)] });
    expect(result.resumed).toMatchObject({ ...query, joinsAt: null });
    await expect(decided((facts) => afterCut(facts, begun(query)), { slices: () => cuts(3) })).rejects.toThrow(
      'cursors die before',
    );
  });
});
