import { describe, expect, it } from 'vitest';
import { emptyWindow } from '../../../src/budget/rules/window-state.ts';
import { viewOf, type WindowView } from '../../../src/budget/rules/window-view.ts';
import {
  changesSince,
  dueNotices,
  type NoticeRow,
  noticeOf,
  type Sight,
  watchedConditions,
} from '../../../src/runs/rules/notices.ts';

const hourMs = 3_600_000;
const now = Date.UTC(2026, 10, 21, 12);
const ago = (hours: number) => new Date(now - hours * hourMs).toISOString();
const nothing: Sight = {
  now,
  since: now - 48 * hourMs,
  projects: [],
  sites: [],
  holds: [],
  drifted: [],
  unread: [],
  approvals: [],
  budget: null,
  refusedRuns: { org: 'acme', count: 0 },
};
const holding = (more: Partial<Sight>) =>
  watchedConditions({ ...nothing, ...more }).holding.map(({ type, subject }) => `${type} ${subject}`);

const idle = viewOf(emptyWindow({ requests: 100, reserve: 0, windowMs: hourMs, arrivalMs: 30_000 }, now), now);
const waiter = (hours: number) => ({
  workflowId: 'sync:acme:prj_1:sweep',
  class: 'on-demand' as const,
  since: now - hours * hourMs,
  expectedAt: now,
  forecast: null,
});
const budget = (view: Partial<WindowView>) => ({ budget: { org: 'acme', view: { ...idle, ...view } } });

describe('an outage that people know', () => {
  const failed = (subject: string, hours: number, toldAt: string | null): NoticeRow => ({
    ...{ type: 'export.failed', subject, open: true, since: ago(hours), changedAt: ago(hours) },
    ...{ told: toldAt !== null, toldAt, until: null, mark: null, reason: 'the service answers 503', facts: {} },
  });

  it('says no more for a day, and then again: what joined it silently does not make it last', () => {
    const second = dueNotices([failed('a.example', 20, ago(20)), failed('b.example', 1, null)], now);
    expect(second).toMatchObject({ groups: [], known: [{ subject: 'b.example', toldAt: ago(20) }] });
    const [known] = second.known;
    // The first one is over; another follows a day after people were told.
    const rows = [{ ...failed('b.example', 1, null), ...known, told: true }, failed('c.example', -5, null)];
    const third = dueNotices(rows, now + 5 * hourMs);
    expect(third).toMatchObject({ groups: [[{ subject: 'c.example' }]], known: [] });
  });
});

it('names no command where none helps, for one webhook that is gone or several', () => {
  const gone = (subject: string): NoticeRow => ({
    ...{ type: 'webhook.gone', subject, open: true, since: ago(1), changedAt: ago(1) },
    ...{ told: false, toldAt: null, until: null, mark: null, reason: 'it answers 410', facts: {} },
  });
  expect(noticeOf('acme', [gone('ops')]).command).toBeNull();
  expect(noticeOf('acme', [gone('ops'), gone('chat')]).command).toBeNull();
});

describe('the watch of an organization finds', () => {
  it('nothing where all is well', () => {
    const sites = [{ domain: 'docs.example', limitMs: 26 * hourMs, lastExport: ago(25) }];
    const projects = [{ project: 'prj_1', limitMs: 26 * hourMs, readAt: Date.parse(ago(25)) }];
    expect(holding({ sites, projects, ...budget({ waiters: [waiter(1.9)] }) })).toEqual([]);
  });

  it('late sites and stale feedback; what never happened counts from the beginning of the watch', () => {
    const sites = [
      { domain: 'a.example', limitMs: 24 * hourMs, lastExport: ago(25) },
      { domain: 'b.example', limitMs: 24 * hourMs, lastExport: null },
      { domain: 'c.example', limitMs: 72 * hourMs, lastExport: null },
    ];
    const projects = [
      { project: 'prj_1', limitMs: 24 * hourMs, readAt: Date.parse(ago(25)) },
      { project: 'prj_2', limitMs: 72 * hourMs, readAt: null },
    ];
    expect(holding({ sites, projects })).toEqual([
      'export.late a.example',
      'export.late b.example',
      'feedback.stale prj_1',
    ]);
  });

  it('an approval in the last quarter of its time, a day before its end at most', () => {
    const asked = (since: number, until: number) => ({
      approvals: [{ domain: 'docs.example', since: ago(since), until: ago(until) }],
    });
    expect(holding(asked(2, -2))).toEqual([]);
    expect(holding(asked(3, -1))).toEqual(['approval.expiring docs.example']);
    expect(holding(asked(100, -25))).toEqual([]);
    expect(holding(asked(100, -24))).toEqual(['approval.expiring docs.example']);
  });

  it('a budget that starves somebody who waits longer than two windows', () => {
    expect(holding(budget({ waiters: [waiter(2.1)] }))).toEqual(['budget.starved acme']);
    expect(holding(budget({ waiters: [waiter(9)], pausedBy: 'unauthorized' }))).toEqual(['key.refused acme']);
  });

  it('a refused key by the budget or by runs that wait', () => {
    expect(holding({ refusedRuns: { org: 'acme', count: 2 } })).toEqual(['key.refused acme']);
    expect(holding(budget({ pausedBy: 'unauthorized' }))).toEqual(['key.refused acme']);
  });

  it('targets that run another version than the one rolled out to them, a site at a time', () => {
    const target = (domain: string, name: string) => ({ domain, target: name, version: 'v2', running: 'v1' });
    const drifted = [
      target('a.example', 'directory:./a'),
      target('a.example', 'helmValues:a.yaml'),
      target('b.example', 'directory:./b'),
    ];
    expect(watchedConditions({ ...nothing, drifted }).holding).toMatchObject([
      {
        type: 'rollout.drifted',
        subject: 'a.example',
        reason: 'directory:./a runs v1 instead of v2; helmValues:a.yaml runs v1 instead of v2',
        facts: { version: 'v2', targets: 2 },
      },
      { type: 'rollout.drifted', subject: 'b.example', facts: { version: 'v2', targets: 1 } },
    ]);
  });

  it('no end of a drift while a target of the site cannot be read', () => {
    const open = [{ type: 'rollout.drifted', subject: 'a.example' }] as const;
    const changed = (unread: string[]) => changesSince(watchedConditions({ ...nothing, unread }), open, []).changes;
    expect(changed(['a.example'])).toEqual([]);
    expect(changed(['b.example'])).toEqual([{ type: 'rollout.drifted', subject: 'a.example', state: 'ended' }]);
  });

  it('holds, without the words of the person', () => {
    const holds = [{ domain: 'docs.example', version: 'v1', since: ago(1), waiting: 'v2' }];
    expect(watchedConditions({ ...nothing, holds }).holding).toEqual([
      {
        type: 'site.held',
        subject: 'docs.example',
        state: 'begun',
        reason: `held at v1 since ${ago(1)}`,
        facts: { version: 'v1', waiting: 'v2' },
      },
    ]);
  });
});

describe('what has changed since people were told', () => {
  const late = { type: 'export.late', subject: 'docs.example' } as const;
  const key = { type: 'key.refused', subject: 'acme' } as const;
  const seen = (...found: (typeof late | typeof key)[]) => ({
    holding: found.map((each) => ({ ...each, state: 'begun' as const })),
    types: ['export.late', 'key.refused'] as const,
  });
  const changes = (
    found: ReturnType<typeof seen>,
    open: (typeof late | typeof key)[],
    absent: 'key.refused'[] = [],
  ) => {
    const next = changesSince({ holding: found.holding, types: [...found.types] }, open, absent);
    return [next.changes.map(({ type, state }) => `${type} ${state}`), next.absent];
  };

  it('begins and ends once', () => {
    expect(changes(seen(late), [])).toEqual([['export.late begun'], []]);
    expect(changes(seen(late), [late])).toEqual([[], []]);
    expect(changes(seen(), [late])).toEqual([['export.late ended'], []]);
  });

  it('says nothing of what could not be read, nor of what others tell', () => {
    expect(
      changesSince({ holding: [], types: [] }, [late, { type: 'export.failed', subject: 'x' }], []).changes,
    ).toEqual([]);
  });

  it('ends what comes and goes only after two looks', () => {
    expect(changes(seen(), [key])).toEqual([[], ['key.refused']]);
    expect(changes(seen(), [key], ['key.refused'])).toEqual([['key.refused ended'], []]);
    expect(changes(seen(key), [key], ['key.refused'])).toEqual([[], []]);
  });
});
