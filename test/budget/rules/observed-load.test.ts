import { describe, expect, it } from 'vitest';
import { entryRate, type ProjectActivity, runCost, typicalPerDay } from '../../../src/budget/rules/plan-budget.ts';

const hour = 3_600_000;
const day = 24 * hour;
const seen: ProjectActivity = {
  entries: 5_000,
  open: 340,
  readUpTo: '2026-11-21T08:00:00.000Z',
  oldest: '2024-01-01T00:00:00.000Z',
  recent: 280,
  runs: { incremental: [], review: [], sweep: [] },
};
const run = (startedAt: string, requests: number) => ({ startedAt, requests });

describe('entryRate', () => {
  it('counts over 28 days, or since the first entry', () => {
    expect(entryRate(seen)).toEqual({ perDay: 280.5 / 28, days: 28 });
    const young = { ...seen, oldest: '2026-11-17T08:00:00.000Z', recent: 20 };
    expect(entryRate(young)).toEqual({ perDay: 20.5 / 4, days: 4 });
    expect(entryRate({ ...young, oldest: '2026-11-21T07:59:00.000Z' })).toEqual({ perDay: 20.5, days: 1 });
  });

  it('is small, not nothing, where no entry came', () => {
    expect(entryRate({ ...seen, recent: 0 })).toEqual({ perDay: 0.5 / 28, days: 28 });
  });

  it('is unknown before the first completed pass, and where no date can be understood', () => {
    expect(entryRate({ ...seen, readUpTo: null })).toBeNull();
    expect(entryRate({ ...seen, oldest: null })).toBeNull();
  });
});

describe('typicalPerDay', () => {
  it('is the mean of what was observed, else ten', () => {
    expect(typicalPerDay([{ perDay: 4, days: 28 }, null, { perDay: 8, days: 2 }])).toBe(6);
    expect(typicalPerDay([null])).toBe(10);
  });
});

describe('runCost', () => {
  it('of an incremental pass is computed from the overlap and what comes in', () => {
    const { cost, runs } = runCost('incremental', seen, 1_000, hour);
    expect(runs).toBe(0);
    expect(cost.fixed).toBeCloseTo(10.5);
    expect(cost.perMs * day).toBeCloseTo(10);
    expect(runCost('incremental', seen, 1, hour).cost.fixed).toBe(1);
  });

  it('of an incremental pass is what was observed, less what came in between', () => {
    const incremental = [
      run('2026-11-21T08:00:00.000Z', 14),
      run('2026-11-21T02:00:00.000Z', 12),
      run('2026-11-20T20:00:00.000Z', 13),
    ];
    const { cost, runs } = runCost('incremental', { ...seen, runs: { ...seen.runs, incremental } }, 1_000, day);
    expect(runs).toBe(3);
    // Runs six hours apart, in which 250 entries came.
    expect(cost.fixed).toBeCloseTo(13 - 2.5);
  });

  it('of a sweep is the last one, or what is stored now if that is more', () => {
    const sweep = [run('2026-11-21T08:00:00.000Z', 60), run('2026-11-14T08:00:00.000Z', 45)];
    const swept = { ...seen, runs: { ...seen.runs, sweep } };
    expect(runCost('sweep', swept, 10, day)).toEqual({ cost: { fixed: 60, perMs: 0 }, runs: 1 });
    expect(runCost('sweep', { ...swept, entries: 7_001 }, 10, day).cost.fixed).toBe(71);
    expect(runCost('sweep', seen, 10, day)).toEqual({ cost: { fixed: 50, perMs: 0 }, runs: 0 });
  });

  it('of a review is what was observed, else the pages of the open entries', () => {
    const review = [run('2026-11-21T08:00:00.000Z', 6), run('2026-11-21T02:00:00.000Z', 9)];
    expect(runCost('review', { ...seen, runs: { ...seen.runs, review } }, 10, day).cost.fixed).toBe(7.5);
    expect(runCost('review', seen, 10, day)).toEqual({ cost: { fixed: 4, perMs: 0 }, runs: 0 });
  });

  it('is assumed of a project that was never seen', () => {
    expect(runCost('incremental', null, 10, hour)).toEqual({ cost: { fixed: 1, perMs: 0.1 / day }, runs: 0 });
    expect(runCost('review', null, 10, day).cost.fixed).toBe(1);
    expect(runCost('sweep', null, 10, day).cost.fixed).toBe(10);
  });
});
