import { describe, expect, it } from 'vitest';
import { expectedDemand, type ScheduledDemand } from '../../../src/budget/rules/expected-demand.ts';

const minute = 60_000;
const hour = 60 * minute;
const every = (everyMs: number, offsetMs = 0, jitterMs = 0): ScheduledDemand['times'] => ({
  intervals: [{ everyMs, offsetMs }],
  calendars: [],
  timezone: '',
  jitterMs,
});
const atMs = Date.UTC(2026, 10, 21, 12, 7);
const window = { atMs, windowMs: hour };
const costs = [
  { project: 'p', pass: 'incremental', requests: 2 },
  { project: 'p', pass: 'sweep', requests: 250 },
];

describe('what schedules are going to want', () => {
  it('is the cost of the latest run for each start in the window', () => {
    const scheduled: ScheduledDemand[] = [
      { project: 'p', pass: 'incremental', times: every(15 * minute) },
      { project: 'p', pass: 'sweep', times: every(24 * hour, 3 * hour) },
    ];
    expect(expectedDemand(scheduled, costs, window)).toBe(4 * 2);
    expect(expectedDemand(scheduled, costs, { ...window, atMs: Date.UTC(2026, 10, 21, 2, 30) })).toBe(4 * 2 + 250);
  });

  it('has a start that the jitter may have put off', () => {
    const late = { project: 'p', pass: 'incremental' as const, times: every(24 * hour, 12 * hour, 10 * minute) };
    expect(expectedDemand([late], costs, window)).toBe(2);
    expect(expectedDemand([late], costs, { ...window, atMs: atMs + 4 * minute })).toBe(0);
  });

  it('is without bound while the cost of one is not known', () => {
    const scheduled = [{ project: 'q', pass: 'sweep' as const, times: every(30 * minute) }];
    expect(expectedDemand(scheduled, costs, window)).toBe(Number.POSITIVE_INFINITY);
    expect(expectedDemand([], costs, window)).toBe(0);
  });
});
