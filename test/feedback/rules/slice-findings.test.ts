import { describe, expect, it } from 'vitest';
import { sliceFindings } from '../../../src/feedback/rules/fact-queries.ts';
import type { PassSlice } from '../../../src/feedback/rules/slice.ts';
import { everything } from '../../../src/feedback/rules/slice.ts';
import { decided, outline, passStart, readSlice } from '../../tools/feedback/decided.ts';

const earlier = '2026-11-14T08:00:00.000Z';
const window = { dateFrom: '2026-11-09T00:00:00.000Z', dateTo: '2026-11-11T00:00:00.000Z' };
const within = { oldestSeen: '2026-11-09T06:00:00.000Z', newestSeen: '2026-11-10T18:00:00.000Z' };
const covered = { from: within.oldestSeen, to: within.newestSeen };
const all = { from: null, to: null };

describe('what is complete', () => {
  it.each<[what: string, slice: Partial<PassSlice>, unshifted: boolean, readable: boolean | null, complete: boolean]>([
    ['a reading that cannot have missed anything', {}, true, true, true],
    ['not where pages may have shifted', {}, false, null, false],
    ['not where an entry came twice', { repeats: 1 }, true, null, false],
    ['not of some statuses', { statuses: ['pending'] }, true, null, false],
    ['not of a source', { source: 'agent' }, true, null, false],
    ['not while an entry came that could not be read', {}, true, false, false],
  ])('%s', async (_, slice, unshifted, readable, complete) => {
    const facts = { undatedVerifiedUpTo: () => null, allReadableSince: () => readable === true };
    const { result, needed } = await decided(
      (facts) => sliceFindings(facts, outline({}), readSlice(slice), unshifted),
      facts,
    );
    expect(result.verified).toEqual(complete ? { ...all, undated: true, at: passStart } : null);
    expect(needed.includes('allReadableSince')).toBe(readable !== null);
  });

  it('is what a window covers for sure, and no entry without a date', async () => {
    const { result } = await decided(
      (facts) => sliceFindings(facts, outline({ pass: 'review' }), readSlice({ ...window, ...within }), true),
      {
        allReadableSince: () => true,
      },
    );
    expect(result.verified).toEqual({ ...covered, undated: false, at: passStart });
  });
});

describe('what is gone', () => {
  it.each<[verified: string | null, unseenSince: string | null]>([
    [null, null],
    [earlier, earlier],
    ['2026-11-22T08:00:00.000Z', passStart],
  ])(
    'are entries without a date that two sweeps missed, the first complete as of %s',
    async (verified, unseenSince) => {
      const { result } = await decided((facts) => sliceFindings(facts, outline({}), readSlice(), false), {
        undatedVerifiedUpTo: () => verified,
      });
      expect(result.gone).toEqual(unseenSince === null ? null : { unseenSince, covered: 'undated' });
    },
  );

  it.each(['again', 'wide'] as const)('is what a sweep misses and slice "%s" misses too', async (stage) => {
    const second = readSlice({ slice: 2, stage, ...window, ...within });
    const { result } = await decided((facts) => sliceFindings(facts, outline({}), second, false), {
      slices: () => [readSlice(), second],
    });
    expect(result.gone).toEqual({ unseenSince: passStart, covered: [all, covered] });
  });

  it.each<[what: string, pass: 'review' | 'incremental', stage: PassSlice['stage']]>([
    ['a review, which does not read everything', 'review', 'again'],
    ['an incremental pass', 'incremental', 'read'],
  ])('is never decided by %s', async (_, pass, stage) => {
    const { result, needed } = await decided((facts) =>
      sliceFindings(facts, outline({ pass }), readSlice({ ...everything, stage }), false),
    );
    expect(result.gone).toBeNull();
    expect(needed).toEqual([]);
  });
});
