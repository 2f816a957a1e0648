import { describe, expect, it } from 'vitest';
import { readRetryAfter } from '../../src/rules/retry-after.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const day = 24 * 3_600_000;

describe('readRetryAfter', () => {
  it.each([
    ['0', 0],
    ['37', 37_000],
    [' 5 ', 5_000],
    ['1.5', 1_500],
  ])('reads %j as seconds', (value, expected) => {
    expect(readRetryAfter(value, undefined, now)).toBe(expected);
  });

  it.each(['Sat, 21 Nov 2026 12:00:30 GMT', 'Saturday, 21-Nov-26 12:00:30 GMT', 'Sat Nov 21 12:00:30 2026'])(
    'reads the HTTP date %j',
    (value) => {
      expect(readRetryAfter(value, undefined, now)).toBe(30_000);
    },
  );

  it("measures a date by the answer's own Date header, so that the service's clock may be wrong", () => {
    const retryAfter = 'Sat, 21 Nov 2026 18:00:30 GMT';
    expect(readRetryAfter(retryAfter, 'Sat, 21 Nov 2026 18:00:00 GMT', now)).toBe(30_000);
    expect(readRetryAfter(retryAfter, 'yesterday', now)).toBe(6 * 3_600_000 + 30_000);
  });

  it('takes a past date for no wait', () => {
    expect(readRetryAfter('Fri, 20 Nov 2026 12:00:00 GMT', undefined, now)).toBe(0);
  });

  it('respects no more than 24 hours', () => {
    expect(readRetryAfter('99999999999999999999', undefined, now)).toBe(day);
    expect(readRetryAfter('9'.repeat(400), undefined, now)).toBe(day);
    expect(readRetryAfter('Sun, 21 Nov 2027 12:00:00 GMT', undefined, now)).toBe(day);
  });

  it.each([undefined, '', '-5', 'soon', '1h', '0x10', '1e3', 'Nov 21', 'Sat, 99 Nov 2026 99:00:30 GMT'])(
    'takes %j for no answer',
    (value) => {
      expect(readRetryAfter(value, undefined, now)).toBeNull();
    },
  );
});
