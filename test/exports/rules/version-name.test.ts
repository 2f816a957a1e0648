import { describe, expect, it } from 'vitest';
import { versionName, versionTime } from '../../../src/exports/rules/site-export.ts';

const someDigest = '3f9a2c1b8e7d'.padEnd(64, '0');

describe('versionName', () => {
  it('is the UTC second and the first 12 hex digits of the content digest', () => {
    expect(versionName(Date.UTC(2026, 10, 21, 4, 2, 0, 987), someDigest)).toBe('20261121T040200Z-3f9a2c1b8e7d');
  });

  it('sorts by time', () => {
    const later = versionName(Date.UTC(2027, 0, 1), '0'.repeat(64));
    const earlier = versionName(Date.UTC(2026, 11, 31, 23, 59, 59), 'f'.repeat(64));
    expect([later, earlier].sort()).toEqual([earlier, later]);
  });

  it.each(['', '3f9a2c1b8e7d', 'F'.repeat(64), `../${'0'.repeat(61)}`])('refuses %j as a digest', (digest) => {
    expect(() => versionName(0, digest)).toThrow(RangeError);
  });
});

describe('versionTime', () => {
  it('reads the moment back to the second', () => {
    expect(versionTime(versionName(Date.UTC(2026, 10, 21, 4, 2, 9, 987), someDigest))).toBe('2026-11-21T04:02:09.000Z');
  });

  it.each(['v1', '20261121T040200Z-XYZ', '20261399T990000Z-3f9a2c1b8e7d'])('is null for %j', (name) => {
    expect(versionTime(name)).toBeNull();
  });
});
