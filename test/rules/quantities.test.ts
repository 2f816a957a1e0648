import { describe, expect, it } from 'vitest';
import { counted, sizeText } from '../../src/rules/text.ts';

describe('numbers for people', () => {
  it.each([
    [0, '0 entries'],
    [1, '1 entry'],
    [1204, '1,204 entries'],
    [1_234_567, '1,234,567 entries'],
  ])('%i is counted', (count, text) => {
    expect(counted(count, 'entry', 'entries')).toBe(text);
  });

  it.each([
    [0, '0 B'],
    [0.4, '1 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [12_902_400, '12.3 MiB'],
  ])('%s bytes are a size', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });
});
