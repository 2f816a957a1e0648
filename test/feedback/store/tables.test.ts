import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createdAtUtc, storedExtra, storedText } from '../../../src/feedback/rules/feedback-entry.ts';

describe('storedText', () => {
  it('keeps every well-formed character', () => {
    const text = 'naïve 👩‍👩‍👧 \u{1F600} \u202E \t\n\u0001';
    expect(storedText(text)).toBe(text);
  });

  it('replaces lone surrogates and U+0000', () => {
    expect(storedText('a\uD800b\u0000c\uDC00')).toBe('a\uFFFDb\uFFFDc\uFFFD');
  });
});

describe('storedExtra', () => {
  it('is null without unknown fields', () => {
    expect(storedExtra({})).toBeNull();
  });

  it('does not depend on the order of the fields', () => {
    expect(storedExtra({ b: { d: 1, c: [{ f: 2, e: 3 }] }, a: null })).toBe(
      storedExtra({ a: null, b: { c: [{ e: 3, f: 2 }], d: 1 } }),
    );
  });

  it('cleans texts and names at every depth', () => {
    expect(JSON.parse(storedExtra({ 'k\u0000': ['\uD800', { deep: '\u0000' }] }) ?? '')).toEqual({
      'k\uFFFD': ['\uFFFD', { deep: '\uFFFD' }],
    });
  });

  it('keeps a field that is named __proto__', () => {
    const extra = JSON.parse('{"__proto__": {"admin": true}}') as Record<string, unknown>;
    expect(storedExtra(extra)).toBe('{"__proto__":{"admin":true}}');
  });
});

describe('createdAtUtc', () => {
  it.each([
    ['2026-11-21T08:31:07Z', '2026-11-21T08:31:07.000Z'],
    ['2026-11-21T08:31:07.5Z', '2026-11-21T08:31:07.500Z'],
    ['2026-11-21T08:31:07.123456789Z', '2026-11-21T08:31:07.123Z'],
    ['2026-11-21t08:31:07z', '2026-11-21T08:31:07.000Z'],
    ['2026-11-21T08:31Z', '2026-11-21T08:31:00.000Z'],
    ['2026-11-21T08:31:07+01:00', '2026-11-21T07:31:07.000Z'],
    ['2026-11-21T08:31:07-0530', '2026-11-21T14:01:07.000Z'],
    ['2026-11-21T08:31:07+02', '2026-11-21T06:31:07.000Z'],
    ['2026-11-21T08:31:07', '2026-11-21T08:31:07.000Z'],
    ['20261121T083107Z', '2026-11-21T08:31:07.000Z'],
    ['20261121T093107.250+0100', '2026-11-21T08:31:07.250Z'],
    ['2026-11-21 08:31:07 UTC', '2026-11-21T08:31:07.000Z'],
    ['2026-11-21 08:31 GMT', '2026-11-21T08:31:00.000Z'],
    ['2026-11-21 08:31:07.250 +00:00', '2026-11-21T08:31:07.250Z'],
    [' 2026-11-21 ', '2026-11-21T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['1795249867', '2026-11-21T08:31:07.000Z'],
    ['1795249867.25', '2026-11-21T08:31:07.250Z'],
    ['1795249867123', '2026-11-21T08:31:07.123Z'],
    ['Sat, 21 Nov 2026 08:31:07 GMT', '2026-11-21T08:31:07.000Z'],
    ['21 Nov 2026 08:31 +0100', '2026-11-21T07:31:00.000Z'],
    ['1 Jan 2026 00:30:00 +0100', '2025-12-31T23:30:00.000Z'],
  ])('reads %j', (text, expected) => {
    expect(createdAtUtc(text)).toBe(expected);
  });

  it.each([
    null,
    '',
    'yesterday',
    '2026-13-01',
    '2026-02-30',
    '2025-02-29T00:00:00Z',
    '2026-11-21T24:30:00Z',
    '2026-11-21T08:61:00Z',
    '2026-11-21T08:31:07+99:00',
    '2026-11-21T08:31:07Europe/Berlin',
    '21/11/2026',
    '20261121',
    '12345',
    '17952498671231',
    'Sat, 21 Foo 2026 08:31:07 GMT',
    'Sat, 31 Feb 2026 08:31:07 GMT',
    'Sat, 21 Nov 2026 08:31:07 PST',
    '9999-12-31T23:59:59-01:00',
    '0999-01-01',
    '+012026-11-21T08:31:07Z',
  ])('does not guess at %j', (text) => {
    expect(createdAtUtc(text)).toBeNull();
  });

  it('never throws and answers 24 characters of UTC or null', () => {
    const dateLike = fc.stringMatching(/^[0-9TtZz:., +\-a-zA-Z]{0,40}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), dateLike), (text) => {
        const read = createdAtUtc(text);
        expect(read === null || /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(read)).toBe(true);
      }),
    );
  });

  it('reads back every moment in every form it understands', () => {
    const moments = fc.date({ min: new Date('1975-01-01'), max: new Date('2200-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(moments, (moment) => {
        const seconds = new Date(Math.floor(moment.getTime() / 1000) * 1000);
        expect(createdAtUtc(moment.toISOString())).toBe(moment.toISOString());
        expect(createdAtUtc(String(moment.getTime()))).toBe(moment.toISOString());
        expect(createdAtUtc(moment.toUTCString())).toBe(seconds.toISOString());
        expect(createdAtUtc(String(seconds.getTime() / 1000))).toBe(seconds.toISOString());
      }),
    );
  });
});
