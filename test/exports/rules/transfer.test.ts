import { describe, expect, it } from 'vitest';
import { type Transfer, transferFacts, transferPercent } from '../../../src/exports/rules/site-export.ts';

const transfer: Transfer = {
  offset: 450_900_000,
  total: 1_234_000_000,
  bytesPerSecond: 12_340_000,
  at: Date.UTC(2026, 10, 21, 4, 0, 0),
};

describe('how far a download is', () => {
  it('is told by size, speed and time left', () => {
    expect(transferFacts(transfer)).toEqual(['430.0 MiB of 1.1 GiB', '11.8 MiB/s', '1 min 3 s left']);
    expect(transferPercent(transfer)).toBeCloseTo(36.54, 2);
  });

  it('is told as far as it is known', () => {
    expect(transferFacts({ ...transfer, total: null })).toEqual(['430.0 MiB', '11.8 MiB/s']);
    expect(transferFacts({ ...transfer, bytesPerSecond: null })).toEqual(['430.0 MiB of 1.1 GiB']);
    expect(transferPercent({ ...transfer, total: null })).toBeNull();
    expect(transferPercent({ ...transfer, total: 0 })).toBeNull();
  });

  it('does not promise more than the whole of a length that was announced too small', () => {
    const beyond = { ...transfer, total: 400_000_000 };
    expect(transferPercent(beyond)).toBe(100);
    expect(transferFacts(beyond)).toContain('0 s left');
  });
});
