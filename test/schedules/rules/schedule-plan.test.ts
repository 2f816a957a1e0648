import { describe, expect, it } from 'vitest';
import {
  type ConfiguredOrganization,
  desiredSchedules,
  type ExistingSchedule,
  type FoundOnServer,
  isConfigured,
  isEmptyPlan,
  planSchedules,
} from '../../../src/schedules/rules/desired-schedules.ts';
import {
  calendarOfCron,
  calendarText,
  durationText,
  type ScheduleSettings,
  spreadOf,
} from '../../../src/schedules/rules/schedule-settings.ts';

const minute = 60_000;
const acme: ConfiguredOrganization = {
  id: 'acme',
  projects: [{ id: 'prj_1', incremental: { everyMs: 15 * minute, jitterMs: 0 } }],
  sites: [
    { domain: 'docs.acme.example', schedule: { cron: '0 6 * * *', timezone: 'Europe/Berlin', jitterMs: 5 * minute } },
    { domain: 'quiet.acme.example' },
  ],
};
const exportId = 'docferry:q:export:acme:docs.acme.example';
const syncId = 'docferry:q:sync:acme:prj_1:incremental';

describe('starts with the same cron', () => {
  it.each([
    ['0 6 * * *', 10],
    ['@hourly', 6],
    ['*/5 * * * *', 0.5],
    ['0 0,1 * * *', 6],
    ['50 23,0 * * *', 6],
    ['0 0 1 1 *', 10],
  ])('%s are spread over %d minutes', (cron, minutes) => {
    const calendar = calendarOfCron(cron);
    expect(calendar && spreadOf(calendar)).toBe(minutes * minute);
  });
});

/** The server after these organizations were applied. */
function applied(organizations: ConfiguredOrganization[]): ExistingSchedule[] {
  return desiredSchedules('q', organizations).map((schedule) => ({ ...schedule, running: [] }));
}

function plan(organizations: ConfiguredOrganization[], found: Partial<FoundOnServer>) {
  return planSchedules(
    desiredSchedules('q', organizations),
    { schedules: [], unread: [], running: [], ...found },
    (target) => isConfigured(organizations, target),
  );
}

/** The server with one schedule changed by hand. */
function byHand(id: string, change: Partial<ScheduleSettings>): ExistingSchedule[] {
  return applied([acme]).map((schedule) =>
    schedule.id === id ? { ...schedule, settings: { ...schedule.settings, ...change } } : schedule,
  );
}

describe('schedules of the configuration', () => {
  it('are those of the sites and passes that have one, and only those', () => {
    const schedules = desiredSchedules('q', [acme]);
    expect(schedules.map(({ id }) => id)).toEqual([exportId, syncId]);
    expect(schedules.map(({ settings }) => settings.action)).toMatchObject([
      {
        workflowType: 'runScheduled',
        taskQueue: 'q',
        workflowId: 'scheduled:export:acme:docs.acme.example',
        input: { kind: 'export', org: 'acme', domain: 'docs.acme.example' },
      },
      { input: { kind: 'sync', org: 'acme', project: 'prj_1', pass: 'incremental' } },
    ]);
  });

  it('begin a round of re-reading once a window for each project, where spare requests are used', () => {
    const [, , round, ...more] = desiredSchedules('q', [{ ...acme, spare: 'verify', budget: { windowMs: 90_500 } }]);
    expect(more).toEqual([]);
    expect(round).toMatchObject({
      id: 'docferry:q:sync:acme:prj_1:verify',
      settings: { intervals: [{ everyMs: 91_000 }], overlap: 'SKIP', action: { input: { pass: 'verify' } } },
    });
  });

  it('never overlap, and make up for a missed time of the last interval or day', () => {
    const [nightly, quarterly] = desiredSchedules('q', [acme]).map(({ settings }) => settings);
    expect(nightly).toMatchObject({ overlap: 'SKIP', catchupMs: 24 * 60 * minute, pauseOnFailure: false });
    expect(quarterly).toMatchObject({ overlap: 'SKIP', catchupMs: 15 * minute });
  });

  it('spreads equal intervals over the interval, always in the same way', () => {
    const projects = Array.from({ length: 90 }, (_, index) => ({
      id: `prj_${index}`,
      incremental: { everyMs: 15 * minute, jitterMs: 0 },
    }));
    const offsets = () =>
      desiredSchedules('q', [{ id: 'acme', projects, sites: [] }]).map(
        ({ settings }) => settings.intervals[0]?.offsetMs ?? -1,
      );
    expect(offsets()).toEqual(offsets());
    for (const offset of offsets()) expect(offset % 1000).toBe(0);
    // 90 of them on 15 minutes: six a minute on average.
    const perMinute = Array.from({ length: 15 }, (_, at) => offsets().filter((ms) => Math.floor(ms / minute) === at));
    for (const inMinute of perMinute) expect(inMinute.length).toBeGreaterThan(0);
    expect(Math.max(...perMinute.map(({ length }) => length))).toBeLessThanOrEqual(14);
  });
});

describe('the plan', () => {
  it('is empty when the server has what is configured', () => {
    const same = plan([acme], { schedules: applied([acme]) });
    expect(isEmptyPlan(same)).toBe(true);
    expect(same.unchanged.map(({ id }) => id)).toEqual([exportId, syncId]);
  });

  it('creates what is missing', () => {
    expect(plan([acme], {}).create.map(({ id }) => id)).toEqual([exportId, syncId]);
  });

  it('cancels re-reading that runs when spare requests are used no longer, but lets other passes end', () => {
    const spare = { ...acme, spare: 'verify' as const };
    const running = [
      { workflowId: 'sync:acme:prj_1:verify', target: { kind: 'sync', org: 'acme', project: 'prj_1', pass: 'verify' } },
      { workflowId: 'sync:acme:prj_1:sweep', target: { kind: 'sync', org: 'acme', project: 'prj_1', pass: 'sweep' } },
    ] as const;
    const found = { schedules: applied([spare]), running };
    expect(isEmptyPlan(plan([spare], found))).toBe(true);
    const without = plan([acme], found);
    expect(without.delete.map(({ id }) => id)).toEqual(['docferry:q:sync:acme:prj_1:verify']);
    expect(without.stop).toEqual(['sync:acme:prj_1:verify']);
  });

  const withSchedule = (schedule: NonNullable<ConfiguredOrganization['sites'][number]['schedule']>) => ({
    ...acme,
    sites: [{ domain: 'docs.acme.example', schedule }],
  });
  it.each([
    [
      'the time',
      withSchedule({ cron: '30 6 * * mon-fri', timezone: 'Europe/Berlin', jitterMs: 5 * minute }),
      'when: 0 6 * * * Europe/Berlin → 30 6 * * 1-5 Europe/Berlin',
    ],
    [
      'the time zone',
      withSchedule({ cron: '0 6 * * *', timezone: 'UTC', jitterMs: 5 * minute }),
      'when: 0 6 * * * Europe/Berlin → 0 6 * * * UTC',
    ],
    ['the jitter', withSchedule({ cron: '0 6 * * *', timezone: 'Europe/Berlin', jitterMs: 0 }), 'jitter: 5m → 0s'],
    [
      'cron to interval',
      withSchedule({ everyMs: 60 * minute, jitterMs: 5 * minute }),
      /^when: 0 6 \* \* \* Europe\/Berlin → every 1h \(offset .+\)$/,
    ],
  ])('follows a change of %s', (_what, organization, change) => {
    const changed = plan([organization], { schedules: applied([acme]) });
    expect(changed.update).toMatchObject([{ desired: { id: exportId }, drift: false }]);
    expect(changed.update[0]?.changes[0]).toMatch(change);
    expect(changed).toMatchObject({ create: [], unchanged: [{ id: syncId }], delete: [], stop: [] });
  });

  it('is not moved by another way to write the same times', () => {
    const rewritten = withSchedule({ cron: '0 6 1-31 * 0-7', timezone: 'Europe/Berlin', jitterMs: 5 * minute });
    expect(plan([{ ...acme, sites: rewritten.sites }], { schedules: applied([acme]) }).update).toEqual([]);
  });

  it.each<[string, Partial<ScheduleSettings>, string]>([
    ['the interval', { intervals: [{ everyMs: minute, offsetMs: 0 }] }, 'when: every 1m (offset 0s) → every 15m'],
    ['the overlap policy', { overlap: 'ALLOW_ALL' }, 'overlap: ALLOW_ALL → SKIP'],
    ['the catch-up window', { catchupMs: 365 * 24 * 60 * minute }, 'catch-up window: 365d → 15m'],
    ['pausing on failure', { pauseOnFailure: true }, 'pause on failure: yes → no'],
    ['an end', { extras: { endAt: '2026-12-01' } }, 'other settings: {"endAt":"2026-12-01"} → {}'],
  ])('shows and repairs %s changed by hand', (_what, change, text) => {
    const { update, unchanged } = plan([acme], { schedules: byHand(syncId, change) });
    expect(update).toMatchObject([{ desired: { id: syncId }, drift: true }]);
    expect(update[0]?.changes).toEqual([expect.stringContaining(text)]);
    expect(unchanged.map(({ id }) => id)).toEqual([exportId]);
  });

  it('sees times added by hand beside ours', () => {
    const [nightly] = applied([acme]);
    const beside = [...(nightly?.settings.calendars ?? [])];
    const { update } = plan([acme], { schedules: byHand(syncId, { calendars: beside }) });
    expect(update[0]?.changes[0]).toMatch(/^when: 0 6 \* \* \* UTC and every 15m .+ → every 15m [^&]+$/);
  });

  it('restores a mark that is missing', () => {
    const schedules = applied([acme]).map((schedule) => ({ ...schedule, digest: null }));
    expect(plan([acme], { schedules }).update).toMatchObject([{ drift: true }, { drift: true }]);
  });

  it('deletes the schedule of a removed site and stops its work; of a removed schedule only the schedule', () => {
    const schedules = applied([acme]).map((schedule) => ({ ...schedule, running: [`run of ${schedule.id}`] }));
    const running = [
      {
        workflowId: 'export:acme:docs.acme.example',
        target: { kind: 'export' as const, org: 'acme', domain: 'docs.acme.example' },
      },
    ];
    const unscheduled = { id: 'acme', projects: [{ id: 'prj_1' }], sites: [{ domain: 'docs.acme.example' }] };
    const withoutSchedules = plan([unscheduled], { schedules, running });
    expect(withoutSchedules).toMatchObject({ delete: [{ id: exportId }, { id: syncId }], stop: [] });
    const withoutSite = plan([{ ...unscheduled, sites: [] }], { schedules, running });
    expect(withoutSite.delete).toHaveLength(2);
    expect(withoutSite.stop).toEqual([`run of ${exportId}`, 'export:acme:docs.acme.example']);
    expect(plan([], { schedules, running }).stop).toHaveLength(3);
  });
});

it('durations read as in the configuration', () => {
  expect([0, 500, 90_000, 900_000, 604_800_000].map(durationText)).toEqual(['0s', '500ms', '1m 30s', '15m', '7d']);
});

const canonical = (cron: string): string | null => {
  const calendar = calendarOfCron(cron);
  return calendar && calendarText(calendar);
};

describe('a cron expression as a calendar', () => {
  it.each([
    ['0 6 * * *', '0 6 * * *'],
    ['*/15 8-18 * * mon-fri', '*/15 8-18 * * 1-5'],
    ['0 0 1,15 JAN *', '0 0 1,15 1 *'],
    ['5/10 * * * 7', '5-55/10 * * * 0'],
    ['0 0 * * 5-7', '0 0 * * 0,5,6'],
    ['0 0 * * 1-7/2', '0 0 * * 0,1,3,5'],
    ['0 0 * * 0-7', '0 0 * * *'],
    ['30,0,15,45 * * * *', '*/15 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@yearly', '0 0 1 1 *'],
  ])('%j reads %j', (cron, text) => {
    expect(canonical(cron)).toBe(text);
  });

  it('has one text for all ways to write the same times', () => {
    const ways = ['0-59 * * * *', '* * 1-31 * 0-6', '*/1 0-23 * jan-dec *', '* * * * 1-7'];
    expect(new Set(ways.map(canonical))).toEqual(new Set(['* * * * *']));
  });

  it.each([
    '',
    '* * * *',
    '0 6 * * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '0 0 * 13 *',
    '5-1 * * * *',
    '*/0 * * * *',
    '1,,2 * * * *',
    '@often',
    'a b c d e',
  ])('refuses %j', (text) => {
    expect(calendarOfCron(text)).toBeNull();
  });
});
