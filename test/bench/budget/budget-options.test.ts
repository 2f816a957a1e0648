import { describe, expect, it } from 'vitest';
import { benchOptions } from '../../../bench/budget/budget-options.ts';

describe('the options of the budget benchmark', () => {
  it('are those of bench/README.md when none are given', () => {
    expect(benchOptions([])).toEqual({
      windowMs: 60_000,
      entries: 25_000,
      requests: 100,
      arrivalMs: 30_000,
      only: null,
      long: false,
      waiters: false,
      out: 'bench/results/budget.md',
    });
  });

  it('keep three bursts when there are fewer entries, and D below a short window', () => {
    expect(benchOptions(['--window', '20s', '--entries', '5000', '--only', 'base,kills'])).toMatchObject({
      windowMs: 20_000,
      requests: 20,
      arrivalMs: 10_000,
      only: ['base', 'kills'],
    });
  });

  it.each([
    [['--window', 'soon'], '--window held "soon": a duration like 60s is needed'],
    [['--window', '0s'], '--window held "0s"'],
    [['--entries', '1.5'], '--entries held "1.5": a whole number above 0 is needed'],
    [['--requests', '-3x'], '--requests'],
  ])('refuse %j and say why', (args, message) => {
    expect(() => benchOptions(args)).toThrow(message);
  });
});
