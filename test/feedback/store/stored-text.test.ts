import { describe, expect, it } from 'vitest';
import { storedExtra, storedText } from '../../../src/feedback/store/tables.ts';

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
