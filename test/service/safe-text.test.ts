import { describe, expect, it } from 'vitest';
import { safeText } from '../../src/service/service-area.ts';

describe('safeText', () => {
  it('leaves ordinary words as they are', () => {
    expect(safeText('Invalid query parameter "limit": 101 > 100', [], 300)).toBe(
      'Invalid query parameter "limit": 101 > 100',
    );
  });

  it.each([
    ['see https://store.example/b?X-Amz-Signature=abc for it', 'see [removed] for it'],
    ['header Authorization: Bearer abc.def refused', 'header Authorization: [removed] refused'],
    ['key vendor_live_8fK2mQ9xT4bL7wZ1cV6n is revoked', 'key [removed] is revoked'],
    ['written by ada@example.org today', 'written by [removed] today'],
    ['the key short-key1 is revoked', 'the key [removed] is revoked'],
  ])('takes links, keys and addresses out of %j', (text, expected) => {
    expect(safeText(text, ['short-key1'], 300)).toBe(expected);
  });

  it('is one printable line of limited length', () => {
    expect(safeText('a\u0000b\nc\u001b[31md\u202ee', [], 300)).toBe('a b c [31md e');
    expect(safeText('word '.repeat(1000), [], 300)).toHaveLength(300);
    expect(safeText('😀'.repeat(400), [], 300)).toBe(`${'😀'.repeat(299)}…`);
  });
});
