import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AxisSpan, documentKey, isCutShort, timeAxis } from '../../../src/feedback/rules/report-figures.ts';

describe('the key of a document', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['https://docs.example/a/b?x#y', '/a/b'],
    ['HTTP://docs.example:8080/a/b', '/a/b'],
    ['/a/b/', '/a/b'],
    ['/a/b#y?x', '/a/b'],
    ['/a?next=https://b.example/c', '/a'],
    ['https://docs.example', '/'],
    ['https://docs.example/?x', '/'],
    ['/', '/'],
    ['', ''],
    ['guide.md', 'guide.md'],
    ['/a//b', '/a//b'],
    ['/go/https://b.example/c', '/go/https://b.example/c'],
    ['/A/b', '/A/b'],
    ['/line\nbreak?x\ny', '/line\nbreak'],
  ])('of %j is %j', (path, key) => {
    expect(documentKey(path)).toBe(key);
    expect(documentKey(key)).toBe(key);
  });

  it('costs little for a path of slashes only', () => {
    expect(documentKey(`/${'/'.repeat(1_000_000)}b`)).toHaveLength(1_000_002);
  });
});

const now = new Date('2026-11-21T08:00:00Z');

function axisOf(oldest: string, more: Partial<AxisSpan> = {}) {
  const axis = timeAxis({ oldest, now, ...more });
  return axis && { unit: axis.unit, first: axis.starts[0], parts: axis.starts.length, end: axis.end };
}

describe('timeAxis', () => {
  it('takes days, weeks, months, quarters or years, by the length of the span', () => {
    expect(axisOf('2026-11-19T10:00:00.000Z')).toEqual({
      unit: 'day',
      first: '2026-11-19T00:00:00.000Z',
      parts: 3,
      end: '2026-11-21T08:00:00.001Z',
    });
    // A Monday.
    expect(axisOf('2026-08-20T00:00:00.000Z')).toMatchObject({ unit: 'week', first: '2026-08-17T00:00:00.000Z' });
    expect(axisOf('2026-01-31T00:00:00.000Z')).toMatchObject({ unit: 'month', parts: 11 });
    const from = '2019-01-01T00:00:00.000Z';
    expect(axisOf('2019-05-05T00:00:00.000Z', { from })).toMatchObject({
      unit: 'quarter',
      first: '2019-04-01T00:00:00.000Z',
    });
    expect(axisOf('1999-05-05T00:00:00.000Z', { from: '1900-01-01T00:00:00.000Z' })).toMatchObject({
      unit: 'year',
      parts: 28,
    });
  });

  it('goes back two years unless asked for more, whatever the oldest date', () => {
    expect(axisOf('1000-01-01T00:00:00.000Z')).toMatchObject({
      unit: 'month',
      first: '2024-12-01T00:00:00.000Z',
      parts: 24,
    });
  });

  it('ends at the end of the bounds, and never in the future', () => {
    const to = '2026-10-01T00:00:00.000Z';
    const axis = timeAxis({ oldest: '2026-05-05T00:00:00.000Z', to, now });
    expect(axis).toMatchObject({ unit: 'week', end: to });
    expect(axis && isCutShort(axis)).toBe(true);
    const far = axisOf('2026-11-19T10:00:00.000Z', { to: '9999-01-01T00:00:00.000Z' });
    expect(far?.end).toBe('2026-11-21T08:00:00.001Z');
  });

  it('is null where there is nothing to show', () => {
    expect(timeAxis({ oldest: null, now })).toBeNull();
    expect(timeAxis({ oldest: '2027-01-01T00:00:00.000Z', now })).toBeNull();
  });

  it('has at most 60 parts in order, the last one before the end', () => {
    const moment = fc
      .date({ min: new Date('1000-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
      .map((date) => date.toISOString());
    const bound = fc.option(moment, { nil: undefined });
    fc.assert(
      fc.property(moment, bound, bound, (oldest, from, to) => {
        const axis = timeAxis({ oldest, now, ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
        if (axis === null) return;
        expect(axis.starts.length).toBeGreaterThan(0);
        expect(axis.starts.length).toBeLessThanOrEqual(60);
        expect(axis.starts).toEqual([...new Set(axis.starts)].sort());
        expect((axis.starts.at(-1) ?? '') < axis.end).toBe(true);
      }),
    );
  });
});
