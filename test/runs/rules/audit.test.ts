import { describe, expect, it } from 'vitest';
import { auditDetail, readActor } from '../../../src/runs/rules/audit.ts';

describe('readActor', () => {
  it('accepts that nothing is said, and takes a blank reason for none', () => {
    expect(readActor(undefined)).toEqual({});
    expect(() => readActor({ other: 1 })).toThrow('other');
    expect(readActor({ who: 'anna', reason: '  ' })).toEqual({ who: 'anna', reason: null });
    expect(readActor({ reason: ' as agreed ' })).toEqual({ reason: 'as agreed' });
  });

  it.each([
    ['an object', 'anna'],
    ['who', { who: '' }],
    ['who', { who: 5 }],
    ['who', { who: 'x'.repeat(101) }],
    ['who', { who: 'two\nlines' }],
    ['reason', { reason: 'x'.repeat(501) }],
    ['reason', { reason: '\ud800' }],
  ])('refuses what has no name or reason of bounded length: %s', (named, actor) => {
    expect(() => readActor(actor)).toThrow(named);
  });
});

it('says the details of an entry in words, and what has none by its name', () => {
  expect(auditDetail('{"forMs":7200000,"requests":60,"bulk":true}')).toBe('for 2 h, 60 requests, in bulk');
  expect(auditDetail('{"version":"v2","previous":null}')).toBe('version v2, nothing was in service');
});
