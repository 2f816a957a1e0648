import { afterEach, describe, expect, it } from 'vitest';
import { ask } from '../src/budget/rules/grant-or-wait.ts';
import { emptyWindow } from '../src/budget/rules/window-state.ts';
import { viewOf } from '../src/budget/rules/window-view.ts';
import { type SharedState, watchSharedState } from '../src/worker-metrics.ts';
import { recordedMetrics } from './tools/recorded-metrics.ts';

let end = async () => {};
afterEach(() => end());

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

/** A window with one of two requests granted, to `a`, and a second pass that waits. */
function sharedState(): SharedState {
  const since = Date.now() - 60_000;
  const settings = { requests: 2, reserve: 1, windowMs: 3_600_000, arrivalMs: 30_000 };
  let window = emptyWindow(settings, since);
  for (const holder of ['a', 'b']) {
    const question = { id: holder, holder, project: holder, class: 'refresh' as const, wants: 1, attemptAt: since };
    [window] = ask(window, question, since);
  }
  return {
    organizations: [{ id: 'acme', projects: ['prj_1', 'new'] }],
    readWindow: async () => viewOf(window, Date.now()),
    readRecords: async () => [
      { project: 'prj_1', newestReadAt: hoursAgo(2), verifiedUpTo: hoursAgo(5) },
      { project: 'new', newestReadAt: null, verifiedUpTo: null },
    ],
    readDelays: async () =>
      new Map([
        [
          'prj_1',
          {
            expected: { newMs: 60_000, newMostMs: 120_000, statusMs: 300_000, silentMs: null },
            measured: { newMs: 50_000, newMostMs: 110_000, entries: 20 },
          },
        ],
        ['new', { expected: null, measured: null }],
      ]),
  };
}

describe('watchSharedState', () => {
  it('shows the window, and the freshness of what was read once', async () => {
    const { metrics, values } = recordedMetrics();
    end = watchSharedState(sharedState(), metrics);
    await expect.poll(() => values.has('docferry_feedback_freshness_seconds{org="acme",project="prj_1"}')).toBe(true);
    const value = (name: string) => values.get(`docferry_budget_${name}{org="acme"}`);
    expect({ used: value('used'), limit: value('limit'), reserve: value('reserve') }).toEqual({
      used: 1,
      limit: 2,
      reserve: 1,
    });
    expect({ waiters: value('waiters'), window: value('window_seconds') }).toEqual({ waiters: 1, window: 3_600 });
    expect(value('longest_wait_seconds')).toBeGreaterThanOrEqual(60);
    expect(values.get('docferry_budget_blocked{org="acme",reason="unauthorized"}')).toBe(0);
    expect(values.get('docferry_feedback_freshness_seconds{org="acme",project="prj_1"}')).toBeGreaterThanOrEqual(7_200);
    expect([...values.keys()].filter((series) => series.includes('project="new"'))).toEqual([]);
  });

  it('shows how late projects are known, by plan and as measured, and as of when they are complete', async () => {
    const { metrics, values } = recordedMetrics();
    end = watchSharedState(sharedState(), metrics);
    const value = (name: string) => values.get(`docferry_feedback_${name}`);
    const delay = (which: string, kind: string) =>
      value(`${which}_delay_seconds{kind="${kind}",org="acme",project="prj_1"}`);
    await expect.poll(() => delay('measured', 'new-95')).toBe(110);
    expect(['new', 'new-95', 'status', 'silent'].map((kind) => delay('expected', kind))).toEqual([
      60,
      120,
      300,
      undefined,
    ]);
    expect(delay('measured', 'new')).toBe(50);
    expect(value('complete_seconds{org="acme",project="prj_1"}')).toBeGreaterThanOrEqual(5 * 3_600);
  });

  it('shows no old value of what is not known any more', async () => {
    const { metrics, values } = recordedMetrics();
    let known = true;
    const state: SharedState = {
      ...sharedState(),
      readRecords: async () => [
        { project: 'prj_1', newestReadAt: hoursAgo(2), verifiedUpTo: known ? hoursAgo(5) : null },
      ],
      readDelays: async () => {
        const measured = known ? { newMs: 50_000, newMostMs: 110_000, entries: 20 } : null;
        return new Map([['prj_1', { expected: null, measured }]]);
      },
    };
    end = watchSharedState(state, metrics, 5);
    const figures = () => [
      values.get('docferry_feedback_complete_seconds{org="acme",project="prj_1"}'),
      values.get('docferry_feedback_measured_delay_seconds{kind="new",org="acme",project="prj_1"}'),
    ];
    await expect.poll(() => figures()[1]).toBe(50);
    known = false;
    await expect.poll(figures, { timeout: 5_000 }).toEqual([Number.NaN, Number.NaN]);
  });

  it('lets the time of the last reading stand still while something cannot be read; what was read ages on', async () => {
    const { metrics, values } = recordedMetrics();
    let broken = false;
    const state = sharedState();
    const failing: SharedState = {
      ...state,
      readRecords: (org, projects) => (broken ? Promise.reject(new Error('away')) : state.readRecords(org, projects)),
    };
    end = watchSharedState(failing, metrics, 5);
    const readAt = () => values.get('docferry_shared_state_read_timestamp_seconds{org="acme"}') ?? 0;
    const freshness = () => values.get('docferry_feedback_freshness_seconds{org="acme",project="prj_1"}') ?? 0;
    await expect.poll(freshness).toBeGreaterThan(0);
    broken = true;
    const [first, age] = [readAt(), freshness()];
    await expect.poll(freshness).toBeGreaterThan(age);
    // One reading may have been under way.
    const stood = readAt();
    const later = freshness();
    await expect.poll(freshness).toBeGreaterThan(later);
    expect(readAt()).toBe(stood);
    expect(stood).toBeGreaterThanOrEqual(first);
    broken = false;
    await expect.poll(readAt).toBeGreaterThan(stood);
  });

  it('reads a thousand organizations a few at a time, past those that do not answer, and asks only these again', async () => {
    const { metrics, values } = recordedMetrics();
    const window = await sharedState().readWindow('acme');
    const organizations = Array.from({ length: 1_000 }, (_, place) => ({ id: `org-${place}`, projects: [] }));
    const silent = new Set(organizations.slice(0, 7).map(({ id }) => id));
    const asked = new Map<string, number>();
    let [underWay, most, answer] = [0, 0, () => {}];
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const state: SharedState = {
      organizations,
      readRecords: async () => [],
      readDelays: async () => new Map(),
      async readWindow(org) {
        asked.set(org, (asked.get(org) ?? 0) + 1);
        underWay += 1;
        most = Math.max(most, underWay);
        await (silent.has(org) ? answered : Promise.resolve());
        underWay -= 1;
        if (silent.has(org)) throw new Error('no worker answers');
        return window;
      },
    };
    const stop = watchSharedState(state, metrics, 3_600_000);
    end = () => {
      answer();
      return stop();
    };
    const used = (org: string) => values.get(`docferry_budget_used{org="${org}"}`);
    await expect.poll(() => organizations.filter(({ id }) => used(id) === 1).length).toBe(993);
    expect(most).toBe(8);
    expect([...silent].flatMap((org) => used(org) ?? [])).toEqual([]);
    answer();
    await expect.poll(() => [...silent].every((org) => (asked.get(org) ?? 0) > 1)).toBe(true);
    // The last one's next turn is an hour later; that of earlier ones may have come on a busy machine.
    expect(asked.get('org-999')).toBe(1);
  });
});
