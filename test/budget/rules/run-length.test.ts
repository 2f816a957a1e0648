import { describe, expect, it } from 'vitest';
import { messagesPerRun } from '../../../src/budget/rules/carry-window.ts';
import { emptyWindow, type WindowState } from '../../../src/budget/rules/window-state.ts';
import { settings, t0 } from '../../tools/window/window-support.ts';

const sized = (waiters: number, slots: number): WindowState => ({
  ...emptyWindow(settings, t0),
  waiters: Array(waiters).fill(null),
  spent: Array(slots).fill(t0),
});

describe('the length of a run', () => {
  it('is three hundred changes of a small budget, and fewer of a larger one, but never so few that it does nothing else', () => {
    const lengths = [sized(0, 0), sized(10, 100), sized(300, 100), sized(1_000, 1_000), sized(2_000, 10_000)].map(
      messagesPerRun,
    );
    expect(lengths[0]).toBe(300);
    expect(lengths).toEqual([...lengths].sort((a, b) => b - a));
    expect(lengths.at(-1)).toBe(50);
  });

  it('counts leases as well as what was spent', () => {
    const leased = { ...sized(0, 0), leases: Array(1_000).fill(null) };
    expect(messagesPerRun(leased)).toBe(messagesPerRun(sized(0, 1_000)));
  });
});
