import { describe, expect, it } from 'vitest';
import { TransferSpeed } from '../../../src/exports/fetch/download.ts';

function speedOf(...samples: [at: number, offset: number][]): number | null {
  const speed = new TransferSpeed();
  for (const [at, offset] of samples) speed.add(at, offset);
  return speed.bytesPerSecond;
}

describe('the speed of a download', () => {
  it('is unknown at first', () => {
    expect(speedOf()).toBeNull();
    expect(speedOf([0, 0], [400, 1_000_000])).toBeNull();
  });

  it('is that of the last ten seconds', () => {
    expect(speedOf([0, 0], [2_000, 4_000_000])).toBe(2_000_000);
    expect(speedOf([0, 0], [10_000, 90_000_000], [20_000, 100_000_000])).toBe(1_000_000);
  });

  it('counts from when the download started over', () => {
    expect(speedOf([0, 90_000_000], [1_000, 0], [2_000, 3_000_000])).toBe(3_000_000);
  });

  it('falls to zero when no bytes arrive', () => {
    expect(speedOf([0, 5], [11_000, 5], [12_000, 5])).toBe(0);
  });
});
