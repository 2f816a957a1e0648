import { describe, expect, it } from 'vitest';
import {
  axisLabels,
  nameText,
  partText,
  sharesDiffer,
  shortened,
  visible,
  waitText,
  wilsonInterval,
} from '../../../src/feedback/report/figure.ts';
import { timeAxis } from '../../../src/feedback/rules/report-figures.ts';

const minute = 60_000;

describe('words of a report', () => {
  it.each([
    [1, '1 minute'],
    [42 * minute, '42 minutes'],
    [60 * minute, '1 hour'],
    [90 * minute, '1.5 hours'],
    [47 * 60 * minute, '47 hours'],
    [60 * 60 * minute, '2.5 days'],
    [40 * 24 * 60 * minute, '40 days'],
  ])('%i ms are %s', (ms, text) => {
    expect(waitText(ms)).toBe(text);
  });

  it('label an axis sparsely, with the year where it begins', () => {
    const axis = timeAxis({ oldest: '2025-11-05T00:00:00.000Z', now: new Date('2026-03-15T00:00:00Z') });
    if (axis === null) throw new Error('there is an axis');
    expect(axis.unit).toBe('week');
    expect(axisLabels(axis, 4)).toEqual(expect.arrayContaining(['3 Nov\n2025', '', '8 Dec', '12 Jan\n2026', '16 Feb']));
    expect(partText(axis, 0)).toBe('week of 3 November 2025');
    expect(partText(axis, axis.starts.length - 1)).toBe('week of 9 March 2026 (so far)');
  });

  it('leave names they do not know as they are', () => {
    expect([nameText('in_progress'), nameText('snoozed'), nameText(null)]).toEqual([
      'in progress',
      'snoozed',
      'others',
    ]);
  });
});

describe('what votes show', () => {
  it('is the score interval', () => {
    // The textbook's example: 15 of 20.
    const { low, high } = wilsonInterval(15, 20);
    expect([low.toFixed(3), high.toFixed(3)]).toEqual(['0.531', '0.888']);
    expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
    expect(wilsonInterval(3, 3).high).toBe(1);
  });

  it('is a difference only beyond chance', () => {
    expect(sharesDiffer({ yes: 60, no: 40 }, { yes: 40, no: 60 })).toBe(true);
    expect(sharesDiffer({ yes: 6, no: 4 }, { yes: 4, no: 6 })).toBe(false);
    expect(sharesDiffer({ yes: 50, no: 0 }, { yes: 60, no: 0 })).toBe(false);
  });
});

describe('texts of others in a line of ours', () => {
  it('show characters that turn the direction or are not seen', () => {
    expect(visible('/a\u202e/b\u2028\u200b\n')).toBe('/a\uFFFD/b\uFFFD\uFFFD\uFFFD');
  });

  it('are cut in the middle, between characters', () => {
    expect(shortened('/guides/one', 11)).toBe('/guides/one');
    expect(shortened('/guides/first/second', 9)).toBe('/gui…cond');
    expect(shortened('👍👍👍👍', 3)).toBe('👍…👍');
    expect(shortened('ab', 1)).toBe('…');
  });
});
