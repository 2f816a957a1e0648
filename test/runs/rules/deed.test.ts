import { describe, expect, it } from 'vitest';
import { readSender } from '../../../src/runs/rules/audit.ts';

describe('readSender', () => {
  it('accepts that nothing is said, and takes a blank reason for none', () => {
    expect(readSender(undefined)).toEqual({});
    expect(readSender({ other: 1 })).toEqual({});
    expect(readSender({ who: 'anna', reason: '  ' })).toEqual({ who: 'anna', reason: null });
    expect(readSender({ reason: ' as agreed ' })).toEqual({ reason: 'as agreed' });
  });

  it.each([
    ['an object', 'anna'],
    ['who', { who: '' }],
    ['who', { who: 5 }],
    ['who', { who: 'x'.repeat(101) }],
    ['who', { who: 'two\nlines' }],
    ['reason', { reason: 'x'.repeat(501) }],
    ['reason', { reason: '\ud800' }],
  ])('refuses what has no name or reason of bounded length: %s', (named, sender) => {
    expect(() => readSender(sender)).toThrow(named);
  });
});
