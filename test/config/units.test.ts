import { describe, expect, it } from 'vitest';
import { parseDuration, parseSize } from '../../src/config/field-schemas.ts';

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['20s', 20_000],
    ['15m', 900_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['1.5h', 5_400_000],
    ['0s', 0],
  ])('reads %j', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '20', 's', '-1s', '1 h', '1H', '1w', '1h30m', '1e3s', '9999999999999999d', '0.5ms'])(
    'refuses %j',
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
  );
});

describe('parseSize', () => {
  it.each([
    ['5GiB', 5 * 1024 ** 3],
    ['10MB', 10_000_000],
    ['4096', 4096],
    ['4096B', 4096],
    ['1.5 KiB', 1536],
  ])('reads %j', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', 'GiB', '-1', '5gb', '5G', '1e9', '0.3B', '99999999TiB'])('refuses %j', (text) => {
    expect(parseSize(text)).toBeNull();
  });
});
