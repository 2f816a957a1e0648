import { describe, expect, it } from 'vitest';
import { sizesUpTo, syncBenchOptions } from '../../../bench/sync/sync-options.ts';

describe('the options of the sync benchmark', () => {
  it('are everything when none are given', () => {
    expect(syncBenchOptions([])).toEqual({
      parts: ['changes', 'memory', 'exports'],
      mostEntries: 1_000_000,
      out: 'bench/results/sync.md',
    });
  });

  it('may leave out parts and large sizes', () => {
    const { parts, mostEntries } = syncBenchOptions(['--only', 'exports,changes', '--entries', '50000']);
    expect(parts).toEqual(['changes', 'exports']);
    expect(sizesUpTo(mostEntries, [10_000, 100_000])).toEqual([10_000]);
    expect(sizesUpTo(500, [10_000, 100_000])).toEqual([500]);
  });

  it.each([
    [['--only', 'exports,reports'], '--only held reports: known are changes, memory, exports'],
    [['--entries', 'many'], '--entries held "many": a whole number above 0 is needed'],
    [['--entries', '0'], '--entries held "0"'],
  ])('refuse %j and say why', (args, message) => {
    expect(() => syncBenchOptions(args)).toThrow(message);
  });
});
