import { describe, expect, it } from 'vitest';
import { recordFilter, unmetValues } from '../../src/cli/flags.ts';

describe('recordFilter', () => {
  it('takes dates as UTC and lists without repetition', () => {
    const flags = { from: '2026-11-01', to: '2026-11-02T01:00:00+01:00', source: 'agent, contextual,agent' };
    expect(recordFilter(flags)).toEqual({
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-02T00:00:00.000Z',
      sources: ['agent', 'contextual'],
      includeDeleted: false,
    });
    expect(recordFilter({})).toEqual({ includeDeleted: false });
    expect(recordFilter({ status: 'pending', includeDeleted: true })).toEqual({
      statuses: ['pending'],
      includeDeleted: true,
    });
  });

  it.each([
    [{ from: '2026-02-30' }, /^--from is "2026-02-30": it must be an ISO 8601/],
    [{ to: 'yesterday' }, /^--to is/],
    [{ from: '2026-02-02', to: '2026-02-02' }, /^--to .* later than 2026-02-02, where the range begins/],
    [{ source: 'agent,,' }, /^--source is/],
    [{ status: '' }, /^--status is/],
  ])('refuses %j', (flags, message) => {
    expect(() => recordFilter(flags)).toThrow(message);
  });
});

describe('unmetValues', () => {
  const met = { sources: new Set(['agent', 'brand_new']), statuses: new Set<string>() };

  it('warns only of values that the service does not document and no entry has', () => {
    expect(unmetValues({ sources: ['agent', 'brand_new', 'contextual'], statuses: ['pending'] }, met)).toEqual([]);
    expect(unmetValues({}, met)).toEqual([]);
    expect(unmetValues({ sources: ['agnet'], statuses: ['done'] }, met)).toEqual([
      'no entry matched --source "agnet"; known: code_snippet, contextual, agent, thumbs_only',
      'no entry matched --status "done"; known: pending, in_progress, resolved, dismissed',
    ]);
  });
});
