import { describe, expect, it } from 'vitest';
import {
  type ConfiguredOrganization,
  desiredSchedules,
  type ExistingSchedule,
  type FoundOnServer,
  isConfigured,
  isEmptyPlan,
  planSchedules,
  refreshInterval,
} from '../../../src/schedules/rules/desired-schedules.ts';
import {
  calendarsOfCron,
  calendarText,
  cronProblem,
  durationText,
  type ScheduleSettings,
  spreadOf,
} from '../../../src/schedules/rules/schedule-settings.ts';

const minute = 60_000;
const acme: ConfiguredOrganization = {
  id: 'acme',
  budget: { requests: 100, reserve: 0, windowMs: 60 * minute },
  refresh: { everyMs: 15 * minute, share: 0.5 },
  projects: [{ id: 'prj_1' }],
  sites: [
    { domain: 'docs.acme.example', schedule: { cron: '0 6 * * *', timezone: 'Europe/Berlin', jitterMs: 5 * minute } },
    { domain: 'quiet.acme.example' },
  ],
};
const exportId = 'docferry:q:export:acme:docs.acme.example';
const refreshId = 'docferry:q:refresh:acme';

describe('starts with the same cron', () => {
  it.each([
    ['0 6 * * *', 10],
    ['@hourly', 6],
    ['*/5 * * * *', 0.5],
    ['0 0,1 * * *', 6],
    ['50 23,0 * * *', 6],
    ['0 0 1 1 *', 10],
  ])('%s are spread over %d minutes', (cron, minutes) => {
    const [calendar] = calendarsOfCron(cron) ?? [];
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
  it('are those of the sites that have one, and one for all projects of an organization', () => {
    const schedules = desiredSchedules('q', [acme]);
    expect(schedules.map(({ id }) => id)).toEqual([exportId, refreshId]);
    expect(schedules.map(({ settings }) => settings.action)).toMatchObject([
      {
        workflowType: 'runScheduled',
        taskQueue: 'q',
        workflowId: 'scheduled:export:acme:docs.acme.example',
        input: { kind: 'export', org: 'acme', domain: 'docs.acme.example' },
      },
      {
        workflowType: 'refreshFeedback',
        workflowId: 'refresh:acme',
        input: { org: 'acme' },
        attributes: { DocferryOrg: 'acme' },
      },
    ]);
  });

  it('are none for an organization whose feedback is read on demand only, or that has no project', () => {
    const { refresh: _none, ...onDemand } = acme;
    expect(desiredSchedules('q', [onDemand, { ...acme, id: 'b', projects: [], sites: [] }])).toHaveLength(1);
  });

  it('never overlap, and make up for a missed time of the last interval or day', () => {
    const [nightly, quarterly] = desiredSchedules('q', [acme]).map(({ settings }) => settings);
    expect(nightly).toMatchObject({ overlap: 'SKIP', catchupMs: 24 * 60 * minute, pauseOnFailure: false });
    expect(quarterly).toMatchObject({ overlap: 'SKIP', catchupMs: 15 * minute });
  });

  it('spreads equal intervals over the interval, always in the same way', () => {
    const many = Array.from({ length: 90 }, (_, index) => ({ ...acme, id: `org_${index}`, sites: [] }));
    const offsets = () => desiredSchedules('q', many).map(({ settings }) => settings.intervals[0]?.offsetMs ?? -1);
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
    expect(same.unchanged.map(({ id }) => id)).toEqual([exportId, refreshId]);
  });

  it('creates what is missing', () => {
    expect(plan([acme], {}).create.map(({ id }) => id)).toEqual([exportId, refreshId]);
  });

  describe('of a refresh that has put its next run off', () => {
    const now = Date.parse('2026-11-23T06:00:07Z');
    const putOff = (dueInMs: number) =>
      byHand(refreshId, { intervals: [refreshInterval(15 * minute, now, now + dueInMs)] });

    it.each([
      ['a moment', 0, 15],
      ['forty minutes', 40 * minute, 40],
      ['a day', 24 * 60 * minute, 60],
    ])('runs next when a request is due, an hour from now at most: in %s', (_, dueInMs, minutes) => {
      const { everyMs, offsetMs } = refreshInterval(15 * minute, now, now + dueInMs);
      expect([everyMs, offsetMs]).toEqual([minutes * minute, now % everyMs]);
    });

    it('leaves it so, and does not call it a change by hand', () => {
      expect(isEmptyPlan(plan([acme], { schedules: putOff(40 * minute) }))).toBe(true);
      expect(isEmptyPlan(plan([acme], { schedules: putOff(24 * 60 * minute) }))).toBe(true);
    });

    it.each<[string, Partial<ConfiguredOrganization>]>([
      ['the share', { refresh: { everyMs: 15 * minute, share: 0.9 } }],
      ['the limit', { budget: { requests: 60, reserve: 0, windowMs: 60 * minute } }],
      ['a project', { projects: [{ id: 'prj_1' }, { id: 'prj_2' }] }],
      ['a deadline', { projects: [{ id: 'prj_1', atMostMs: 15 * minute }] }],
      ['the interval', { refresh: { everyMs: 5 * minute, share: 0.5 } }],
    ])('goes back to its times when the configuration changes: %s', (_, change) => {
      const { update } = plan([{ ...acme, ...change }], { schedules: putOff(40 * minute) });
      expect(update).toMatchObject([{ desired: { id: refreshId }, drift: false }]);
    });

    it('is a change by hand when it runs more often than configured, or hardly ever', () => {
      for (const everyMs of [minute, 61 * minute]) {
        const schedules = byHand(refreshId, { intervals: [{ everyMs, offsetMs: 0 }] });
        expect(plan([acme], { schedules }).update).toMatchObject([{ desired: { id: refreshId }, drift: true }]);
      }
    });
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
    expect(changed).toMatchObject({ create: [], unchanged: [{ id: refreshId }], delete: [], stop: [] });
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
    const { update, unchanged } = plan([acme], { schedules: byHand(refreshId, change) });
    expect(update).toMatchObject([{ desired: { id: refreshId }, drift: true }]);
    expect(update[0]?.changes).toEqual([expect.stringContaining(text)]);
    expect(unchanged.map(({ id }) => id)).toEqual([exportId]);
  });

  it('sees times added by hand beside ours', () => {
    const [nightly] = applied([acme]);
    const beside = [...(nightly?.settings.calendars ?? [])];
    const { update } = plan([acme], { schedules: byHand(refreshId, { calendars: beside }) });
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
    expect(withoutSchedules).toMatchObject({ delete: [{ id: exportId }, { id: refreshId }], stop: [] });
    const withoutSite = plan([{ ...unscheduled, sites: [] }], { schedules, running });
    expect(withoutSite.delete).toHaveLength(2);
    expect(withoutSite.stop).toEqual([`run of ${exportId}`, 'export:acme:docs.acme.example']);
    expect(plan([], { schedules, running }).stop).toHaveLength(3);
  });
});

it('durations read as in the configuration', () => {
  expect([0, 500, 90_000, 900_000, 604_800_000].map(durationText)).toEqual(['0s', '500ms', '1m 30s', '15m', '7d']);
});

const canonical = (cron: string) => calendarsOfCron(cron)?.map(calendarText).join(' and ');

describe('a cron expression as a calendar', () => {
  it.each([
    ['0 6 * * *', '0 6 * * *'],
    ['*/15 8-18 * * mon-fri', '*/15 8-18 * * 1-5'],
    ['0 0 1,15 JAN *', '0 0 1,15 1 *'],
    ['5/10 * * * 7', '5-55/10 * * * 0'],
    ['0 0 * * 5-7', '0 0 * * 0,5,6'],
    ['0 0 * * 1-7/2', '0 0 * * 0,1,3,5'],
    ['0 0 * * 0-7', '0 0 * * *'],
    ['0 6 * * 7/2', '0 6 * * 0'],
    ['0 6 * * 3/2', '0 6 * * 0,3,5'],
    ['30,0,15,45 * * * *', '*/15 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@yearly', '0 0 1 1 *'],
    ['0 6 1,15 * 1', '0 6 1,15 * * and 0 6 * * 1'],
    ['0 6 */2 * 1', '0 6 */2 * 1'],
    ['0 6 1-31 * sun-sat', '0 6 * * *'],
  ])('%j reads %j', (cron, text) => {
    expect(canonical(cron)).toBe(text);
  });

  it('has one text for all ways to write the same times', () => {
    const ways = ['0-59 * * * *', '* * 1-31 * 0-6', '*/1 0-23 * jan-dec *', '* * * * 1-7'];
    expect(new Set(ways.map(canonical))).toEqual(new Set(['* * * * *']));
  });

  it.each([
    ['61 * * * *', 'expected 0 to 59 as minute, not "61"'],
    ['0 6 * 13 *', 'expected 1 to 12 as month, not "13"'],
    ['0 6 * * 8', 'expected 0 to 6 as day of week, not "8"'],
    ['0 6 31 2 *', 'expected a day that one of its months has'],
    ['0 6 31 feb,apr *', 'expected a day that one of its months has'],
    ['0 6 29 2 *', null],
    ['0 6 31 2 1', null],
    ['@daily', null],
  ])('says of %j what is wrong: %j', (text, problem) => {
    expect(cronProblem(text)).toBe(problem);
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
    expect(calendarsOfCron(text)).toBeNull();
    expect(cronProblem(text)).toMatch(/^expected /);
  });
});
