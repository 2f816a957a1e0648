import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfiguredOrganization, ProjectActivity } from '../../../src/budget/rules/plan-budget.ts';
import { type BudgetPlan, planBudget } from '../../../src/budget/rules/plan-budget.ts';
import type { PassKind } from '../../../src/feedback/rules/pass-bounds.ts';
import type { ConfiguredTimes } from '../../../src/schedules/rules/desired-schedules.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const fromMs = Date.parse('2026-11-21T08:00:00Z');

type Project = ConfiguredOrganization['projects'][number];
const every = (everyMs: number): ConfiguredTimes => ({ everyMs, jitterMs: 0 });
const cron = (text: string): ConfiguredTimes => ({ cron: text, timezone: 'UTC', jitterMs: 0 });

/** A project of which `perDay` entries came each day and runs cost these requests. */
function seen(perDay: number, entries: number, requests: { [Pass in PassKind]?: number }): ProjectActivity {
  const runs = (pass: PassKind) => {
    const cost = requests[pass];
    return cost === undefined ? [] : [{ startedAt: '2026-11-21T07:00:00.000Z', requests: cost }];
  };
  return {
    entries,
    open: 0,
    readUpTo: '2026-11-21T07:00:00.000Z',
    oldest: '2020-01-01T00:00:00.000Z',
    recent: 28 * perDay,
    runs: { incremental: runs('incremental'), review: runs('review'), sweep: runs('sweep') },
  };
}

function plan(
  projects: readonly Project[],
  activity: Record<string, ProjectActivity> = {},
  requests = 100,
): BudgetPlan {
  return planBudget({
    taskQueue: 'docferry',
    organization: { id: 'acme', sites: [], projects },
    budget: { requests, reserve: 0, windowMs: hour },
    activity: new Map(Object.entries(activity)),
    fromMs,
  });
}

function proposals({ passes }: BudgetPlan): Record<string, number | null> {
  return Object.fromEntries(
    passes.map(({ project, pass, proposedEveryMs }) => [`${project} ${pass}`, proposedEveryMs]),
  );
}

describe('planBudget', () => {
  it('says what suffices, and what each schedule asks for', () => {
    const sweep = cron('0 4 * * *');
    const found = plan([{ id: 'p', incremental: every(5 * minute), sweep }], {
      p: seen(10, 4_000, { incremental: 1, sweep: 40 }),
    });
    expect(found).toMatchObject({
      verdict: 'suffices',
      available: 100,
      horizonMs: 28 * day,
      proposed: null,
      hopeless: null,
    });
    expect(found.projects).toEqual([{ project: 'p', entries: 4_000, newPerDay: 280.5 / 28, observedDays: 28 }]);
    const [incremental, swept] = found.passes;
    expect(incremental).toMatchObject({ observedRuns: 1, proposed: null, proposedEveryMs: null });
    expect(incremental?.now).toMatchObject({ starts: 28 * 288, skipped: 0, stalenessMs: 2.5 * minute });
    expect(incremental?.now.perWindow).toBeCloseTo(12, 0);
    expect(swept?.now).toMatchObject({ starts: 28, requestsPerRun: 40, stalenessMs: 12 * hour });
    expect(swept?.now.perWindow).toBeCloseTo(40 / 24);
    expect(found.now.fullest?.requests).toBeCloseTo(52, 0);
    expect(new Date(found.now.fullest?.fromMs ?? 0).toISOString()).toMatch(/T0[34]:/);
    expect(found.now.stalenessMs).toBe(2.5 * minute);
  });

  it('reads a busy project more often than a quiet one when there are requests to spare', () => {
    const projects = ['busy', 'quiet'].map((id) => ({ id, incremental: every(hour) }));
    const found = plan(
      projects,
      { busy: seen(900, 9_000, { incremental: 1 }), quiet: seen(9, 90, { incremental: 1 }) },
      12,
    );
    const { 'busy incremental': busy, 'quiet incremental': quiet } = proposals(found);
    expect(busy).toBe(8 * minute);
    expect(quiet).toBeGreaterThan(5 * (busy ?? 0));
    expect(found.proposed?.perWindow).toBeLessThanOrEqual(9.6);
    expect(found.proposed?.stalenessMs).toBeLessThan((found.now.stalenessMs ?? 0) / 4);
  });

  it('proposes nothing below five minutes, unless less is configured', () => {
    const activity = { p: seen(500, 500, { incremental: 1 }) };
    expect(proposals(plan([{ id: 'p', incremental: every(hour) }], activity))).toEqual({ 'p incremental': 5 * minute });
    const found = plan([{ id: 'p', incremental: every(2 * minute) }], activity);
    expect(found).toMatchObject({ verdict: 'suffices', proposed: null });
  });

  it('leaves alone what uses more than it would plan for, and fits', () => {
    const projects = Array.from({ length: 17 }, (_, n) => ({ id: `${n}`, incremental: every(hour) }));
    const activity = Object.fromEntries(projects.map(({ id }) => [id, seen(470, 9_000, { incremental: 5 })]));
    for (const limit of [86, 90, 100, 101, 103]) {
      expect(plan(projects, activity, limit)).toMatchObject({ hopeless: null, proposed: null });
    }
  });

  it('stretches what asks for more than there is, the expensive most, and never shortens a sweep or review', () => {
    const projects = [
      { id: 'a', incremental: every(minute), review: every(hour), sweep: every(hour) },
      { id: 'b', incremental: every(minute), review: every(30 * day), sweep: every(hour) },
    ];
    const found = plan(projects, {
      a: seen(20, 20_000, { incremental: 1, review: 4, sweep: 200 }),
      b: seen(20, 500, { incremental: 1, sweep: 5 }),
    });
    expect(found.verdict).toBe('exceeds');
    const proposed = proposals(found);
    expect(proposed['a sweep']).toBeGreaterThan(5 * (proposed['b sweep'] ?? 0));
    expect(proposed['a review']).toBe(hour);
    expect(proposed['b review']).toBe(30 * day);
    expect(found.proposed?.perWindow).toBeLessThanOrEqual(80);
    for (const { times, proposedEveryMs } of found.passes)
      expect(proposedEveryMs).toBeGreaterThanOrEqual(times.everyMs ?? 0);
  });

  it('stretches sweeps alone to all that is planned, and finds what fits exactly', () => {
    const projects = ['a', 'b'].map((id) => ({ id, sweep: every(10 * minute) }));
    const activity = { a: seen(1, 100, { sweep: 40 }), b: seen(1, 100, { sweep: 40 }) };
    const found = plan(projects, activity);
    expect(found).toMatchObject({ verdict: 'exceeds', hopeless: null });
    expect(proposals(found)).toEqual({ 'a sweep': hour, 'b sweep': hour });
    expect(found.proposed?.perWindow).toBeCloseTo(80);
  });

  it('tells enough on average from enough in each hour, and how long the runs that fall together take', () => {
    const found = plan([{ id: 'p', incremental: every(15 * minute), sweep: every(7 * day) }], {
      p: seen(10, 25_000, { incremental: 1, sweep: 250 }),
    });
    expect(found.verdict).toBe('waits');
    expect(found.now.perWindow).toBeLessThan(6);
    expect(found.now.fullest?.requests).toBeCloseTo(254, 0);
    expect(found.passes[1]?.now.longestRunMs).toBeGreaterThanOrEqual(2 * hour);
    expect(found.passes[1]?.now.longestRunMs).toBeLessThan(3 * hour + minute);
    // Incremental passes go first, with the slots that they used an hour ago.
    expect(found.passes[0]?.now).toMatchObject({ longestRunMs: 0, skipped: 0 });
  });

  it('keeps cron schedules, and says when they alone take too much', () => {
    const found = plan([{ id: 'p', incremental: every(hour), sweep: cron('* * * * *') }], {
      p: seen(10, 500, { incremental: 1, sweep: 5 }),
    });
    expect(found).toMatchObject({ verdict: 'exceeds', hopeless: 'cron', proposed: null });
    const mixed = plan([
      { id: 'p', incremental: cron('*/30 * * * *') },
      { id: 'q', incremental: every(hour) },
    ]);
    expect(proposals(mixed)).toEqual({ 'p incremental': null, 'q incremental': 5 * minute });
    expect(mixed.passes[0]?.now.stalenessMs).toBe(15 * minute);
    expect(mixed.passes[0]?.proposed?.requestsPerRun).toBe(mixed.passes[0]?.now.requestsPerRun);
  });

  it('plays less where very much starts, and looks over a year where cron starts rarely', () => {
    const found = plan([{ id: 'p', incremental: every(1_000), sweep: cron('0 0 1 */3 *') }]);
    expect(found.horizonMs).toBeLessThanOrEqual(200_000_000);
    expect(found.passes[1]?.now).toMatchObject({ starts: 0, skipped: 0 });
    expect((found.passes[1]?.now.stalenessMs ?? 0) / day).toBeCloseTo(366 / 4 / 2);
  });

  it('says when reading the new entries takes more than there is', () => {
    const found = plan([{ id: 'p', incremental: every(hour) }], { p: seen(30_000, 900_000, { incremental: 300 }) }, 10);
    expect(found).toMatchObject({ verdict: 'exceeds', hopeless: 'entries', proposed: null });
  });

  it('assumes what was never observed, like the other projects if there are any', () => {
    const found = plan([{ id: 'new', incremental: every(hour), sweep: every(day) }, { id: 'old' }], {
      old: seen(40, 900, {}),
    });
    expect(found.projects[0]).toEqual({
      project: 'new',
      entries: 0,
      newPerDay: (28 * 40 + 0.5) / 28,
      observedDays: null,
    });
    expect(found.passes.map(({ observedRuns }) => observedRuns)).toEqual([0, 0]);
    expect(found.passes[1]?.now.requestsPerRun).toBe(10);
  });

  it('has a verdict where nothing is scheduled or configured', () => {
    expect(plan([{ id: 'p' }])).toMatchObject({
      verdict: 'nothing-scheduled',
      passes: [],
      proposed: null,
      hopeless: null,
    });
    expect(plan([])).toMatchObject({
      verdict: 'nothing-scheduled',
      projects: [],
      now: { perWindow: 0, fullest: null },
    });
  });

  it('never plans more than there is, nor proposes what would make new entries wait longer though all fits', () => {
    const times = fc.integer({ min: 1, max: 2_000 }).map((minutes): ConfiguredTimes => every(minutes * minute));
    const project = fc.record({
      incremental: times,
      sweep: fc.option(times, { nil: undefined }),
      perDay: fc.integer({ min: 0, max: 300 }),
      entries: fc.integer({ min: 0, max: 9_000 }),
    });
    let proposed = 0;
    fc.assert(
      fc.property(
        fc.array(project, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 20, max: 200 }),
        (some, limit) => {
          const projects = some.map(({ incremental, sweep }, n) => ({
            id: `${n}`,
            incremental,
            ...(sweep ? { sweep } : {}),
          }));
          const activity = some.map(({ perDay, entries }, n) => [`${n}`, seen(perDay, entries, {})] as const);
          const found = plan(projects, Object.fromEntries(activity), limit);
          if (found.proposed === null) return;
          proposed += 1;
          const fits = found.now.perWindow <= limit;
          expect(found.proposed.perWindow).toBeLessThanOrEqual(1.000001 * (fits ? limit : 0.8 * limit));
          if (fits) expect(found.proposed.stalenessMs).toBeLessThan(found.now.stalenessMs ?? Number.POSITIVE_INFINITY);
          for (const {
            pass,
            times: { everyMs = 0 },
            proposedEveryMs,
          } of found.passes) {
            if (pass === 'sweep') expect(proposedEveryMs).toBeGreaterThanOrEqual(everyMs);
            else expect(proposedEveryMs).toBeGreaterThanOrEqual(Math.min(everyMs, 5 * minute));
            if (fits) expect(proposedEveryMs).toBeLessThanOrEqual(everyMs);
          }
        },
      ),
      { numRuns: propertyRuns(25) },
    );
    expect(proposed).toBeGreaterThan(0);
  });
});
