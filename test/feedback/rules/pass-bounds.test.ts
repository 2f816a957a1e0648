import { describe, expect, it } from 'vitest';
import { boundsOfPass, boundsProblem } from '../../../src/feedback/rules/pass-bounds.ts';

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

  it('takes another overlap', () => {
    expect(boundsOfPass({ pass: 'incremental', watermark, overlapMs: 0 }).dateFrom).toBe(watermark);
    expect(boundsOfPass({ pass: 'incremental', watermark, overlapMs: 3_600_000 }).dateFrom).toBe(
      '2026-11-21T07:31:07.250Z',
    );
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
    [{ from: '2026-01-02', to: '2026-01-01' }, 'to', '2026-01-01', 'later than from'],
    [{ from: '2026-01-01', to: '2026-01-01T00:00:00Z' }, 'to', '2026-01-01T00:00:00Z', 'later than from'],
    [{ from: '2026-01-01', to: '2026-01-01T00:30:00+01:00' }, 'to', '2026-01-01T00:30:00+01:00', 'later than from'],
  ])('names the field of %j', (bounds, field, held, words) => {
    const problem = boundsProblem(bounds);
    expect(problem).toMatchObject({ field, held });
    expect(problem?.problem).toContain(words);
  });
});
