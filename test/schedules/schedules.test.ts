import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { exportWorkflowId, scheduleId } from '../../src/rules/workflow-ids.ts';
import type { ConfiguredOrganization, ConfiguredTimes } from '../../src/schedules/rules/desired-schedules.ts';
import { isEmptyPlan, type SchedulePlan } from '../../src/schedules/rules/desired-schedules.ts';
import { scheduleViews } from '../../src/schedules/schedule-views.ts';
import {
  applySchedules,
  backfillSchedule,
  describeSchedules,
  namedSchedules,
  pauseSchedule,
  putOffRefresh,
  readSchedulePlan,
  resumeSchedule,
  ScheduleRefused,
  scheduledTimes,
  triggerSchedule,
} from '../../src/schedules/schedules.ts';
import { silentProxy } from '../tools/proxies/silent-proxy.ts';
import { devServerEnvironment, forThisFile, useDevServer, workflowBundle } from '../tools/temporal/temporal.ts';

const env = await forThisFile(devServerEnvironment());
const made: string[] = [];
afterEach(async () => {
  for (const id of made.splice(0)) await env.client.schedule.getHandle(id).delete();
  for (const queue of queues.splice(0)) await applySchedules(env.client, queue, [], 'fast');
});

const queues: string[] = [];
/** A task queue of its own, on which no worker polls: what is started there stays as it is. */
function newQueue(): string {
  const queue = `schedules-${process.pid}-${Math.random().toString(36).slice(2, 8)}`;
  queues.push(queue);
  return queue;
}

const hour = 3_600_000;
const nightly = { cron: '0 6 * * *', timezone: 'Europe/Berlin', jitterMs: 300_000 };
const hourly = { everyMs: hour, jitterMs: 0 };
/** So seldom that none comes by itself while a test runs. */
const daily = { everyMs: 24 * hour, share: 0.5 };
/** Organizations named after the task queue: workflow ids are the namespace's. */
function organization(
  queue: string,
  { site = nightly, refresh = daily }: { site?: ConfiguredTimes; refresh?: typeof daily } = {},
) {
  return {
    id: `org-${queue}`,
    sites: [{ domain: 'docs.acme.example', schedule: site }],
    refresh,
    projects: [{ id: 'prj_1' }],
  } satisfies ConfiguredOrganization;
}
const siteId = (queue: string) =>
  scheduleId(queue, { kind: 'export', org: `org-${queue}`, domain: 'docs.acme.example' });
const refreshId = (queue: string) => scheduleId(queue, { kind: 'refresh', org: `org-${queue}` });

const outline = (plan: SchedulePlan) => ({
  create: plan.create.map(({ id }) => id),
  update: plan.update.map(({ desired, drift, changes }) => ({ id: desired.id, drift, changes })),
  delete: plan.delete.map(({ id }) => id),
  stop: plan.stop,
});
const nothing = { create: [], update: [], delete: [], stop: [] };

describe('applying the schedules of the configuration', () => {
  it('creates them with every setting explicit, and then finds nothing to do', async () => {
    const queue = newQueue();
    const configured = [organization(queue)];
    const first = await applySchedules(env.client, queue, configured, 'fast');
    expect(outline(first)).toEqual({ ...nothing, create: [siteId(queue), refreshId(queue)] });
    const { spec, policies, action, info } = await env.client.schedule.getHandle(siteId(queue)).describe();
    expect(spec).toMatchObject({ timezone: 'Europe/Berlin', jitter: 300_000, intervals: [] });
    expect(policies).toEqual({ overlap: 'SKIP', catchupWindow: 24 * hour, pauseOnFailure: false });
    expect(action).toMatchObject({
      workflowType: 'runScheduled',
      taskQueue: queue,
      args: [{ kind: 'export', org: `org-${queue}`, domain: 'docs.acme.example' }],
    });
    expect(info.nextActionTimes.length).toBeGreaterThan(0);
    expect(isEmptyPlan(await applySchedules(env.client, queue, configured, 'fast'))).toBe(true);
    // A changed failover changes them once.
    const steady = await applySchedules(env.client, queue, configured, 'tolerant');
    expect(steady.update.map(({ drift, changes }) => [drift, changes.length])).toEqual([
      [false, 2],
      [false, 2],
    ]);
    expect(isEmptyPlan(await readSchedulePlan(env.client, queue, configured, 'tolerant'))).toBe(true);
  });

  it('changes exactly what the configuration changed; a paused one stays paused and keeps its note', async () => {
    const queue = newQueue();
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    await pauseSchedule(env.client, siteId(queue), 'until the relaunch');
    const changed = [organization(queue, { site: { ...nightly, cron: '30 5 * * mon-fri' } })];
    const change = {
      id: siteId(queue),
      drift: false,
      changes: ['when: 0 6 * * * Europe/Berlin → 30 5 * * 1-5 Europe/Berlin'],
    };
    expect(outline(await readSchedulePlan(env.client, queue, changed, 'fast'))).toEqual({
      ...nothing,
      update: [change],
    });
    expect(outline(await applySchedules(env.client, queue, changed, 'fast'))).toEqual({
      ...nothing,
      update: [change],
    });
    const { state, spec } = await env.client.schedule.getHandle(siteId(queue)).describe();
    expect(state).toMatchObject({ paused: true, note: 'until the relaunch' });
    expect(spec.calendars).toHaveLength(1);
    expect(outline(await readSchedulePlan(env.client, queue, changed, 'fast'))).toEqual(nothing);
  });

  it('leaves no times of before when cron becomes an interval (they would fire as well)', async () => {
    const queue = newQueue();
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    const changed = [organization(queue, { site: hourly })];
    await applySchedules(env.client, queue, changed, 'fast');
    const { spec } = await env.client.schedule.getHandle(siteId(queue)).describe();
    expect(spec).toMatchObject({ calendars: [], intervals: [{ every: hour }] });
    expect(spec.jitter ?? 0).toBe(0);
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    const back = await env.client.schedule.getHandle(siteId(queue)).describe();
    expect(back.spec.intervals).toEqual([]);
  });

  it('shows what was changed by hand, and repairs it', async () => {
    const queue = newQueue();
    const configured = [organization(queue)];
    await applySchedules(env.client, queue, configured, 'fast');
    const handle = env.client.schedule.getHandle(refreshId(queue));
    await handle.update((before) => ({
      ...before,
      policies: { ...before.policies, overlap: 'ALLOW_ALL' },
      spec: { ...before.spec, cronExpressions: ['0 3 * * *'] },
    }));
    const { schedules } = await scheduleViews(env.client, queue, configured, 'fast');
    expect(schedules.map(({ drift, differs }) => [drift, differs.length])).toEqual([
      [false, 0],
      [true, 2],
    ]);
    const { update } = await applySchedules(env.client, queue, configured, 'fast');
    expect(update).toMatchObject([{ drift: true, desired: { id: refreshId(queue) } }]);
    expect(update[0]?.changes).toEqual([
      expect.stringMatching(/^when: 0 3 \* \* \* UTC and every day at .+ → every day at /),
      'overlap: ALLOW_ALL → SKIP',
    ]);
    expect(outline(await readSchedulePlan(env.client, queue, configured, 'fast'))).toEqual(nothing);
    expect((await handle.describe()).spec.calendars).toEqual([]);
  });

  it("never sees or touches schedules of others: another queue's docferry, other programs", async () => {
    const [queue, neighbour] = [newQueue(), newQueue()];
    await applySchedules(env.client, neighbour, [organization(neighbour)], 'fast');
    const action = { type: 'startWorkflow', workflowType: 'theirs', taskQueue: queue } as const;
    for (const id of [`nightly-${queue}`, `docferry:${queue}:backup`]) {
      await env.client.schedule.create({ scheduleId: id, spec: { intervals: [{ every: '1d' }] }, action });
      made.push(id);
    }
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    await expect.poll(async () => (await namedSchedules(env.client, queue)).length).toBe(2);
    expect((await applySchedules(env.client, queue, [], 'fast')).delete).toHaveLength(2);
    const others = await describeSchedules(
      env.client,
      await namedSchedules(env.client, neighbour, [siteId(neighbour), refreshId(neighbour)]),
    );
    expect(others.schedules).toHaveLength(2);
    for (const id of made) expect((await env.client.schedule.getHandle(id).describe()).scheduleId).toBe(id);
  });

  it('removes the schedule when its last project goes, and cancels work on it', async () => {
    const queue = newQueue();
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    await expect.poll(async () => (await namedSchedules(env.client, queue)).length).toBe(2);
    const input = { org: `org-${queue}`, project: 'prj_1', pass: 'sweep' } as const;
    const byHand = await startSync(env.client, queue, input);
    const listed = async () => (await env.client.workflow.count(`WorkflowId = '${byHand.workflowId}'`)).count;
    await expect.poll(listed).toBe(1);
    const left = [{ ...organization(queue), projects: [] }];
    const removed = outline(await applySchedules(env.client, queue, left, 'fast'));
    expect(removed).toEqual({ ...nothing, delete: [refreshId(queue)], stop: [byHand.workflowId] });
    const { events } = await env.client.workflow.getHandle(byHand.workflowId).fetchHistory();
    expect(events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes)).toBe(true);
    await env.client.workflow.getHandle(byHand.workflowId).terminate();
  });

  it('stops a refresh that runs when its organization goes', async () => {
    const queue = newQueue();
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    await expect.poll(async () => (await namedSchedules(env.client, queue)).length).toBe(2);
    await triggerSchedule(env.client, refreshId(queue));
    const run = async () =>
      (await env.client.schedule.getHandle(refreshId(queue)).describe()).info.runningActions[0]?.workflow.workflowId;
    await expect.poll(run).toMatch(new RegExp(`^refresh:org-${queue}-\\d{4}-`));
    const workflowId = `${await run()}`;
    expect((await applySchedules(env.client, queue, [], 'fast')).stop).toEqual([workflowId]);
    await env.client.workflow.getHandle(workflowId).terminate();
  });

  it('lets a refresh put its next run off until a request is due, and back', async () => {
    const queue = newQueue();
    const configured = organization(queue, { refresh: { everyMs: 900_000, share: 0.5 } });
    await applySchedules(env.client, queue, [configured], 'fast');
    await pauseSchedule(env.client, refreshId(queue), 'relaunch');
    const described = () => env.client.schedule.getHandle(refreshId(queue)).describe();
    const before = (await described()).spec.intervals;
    const dueIn = (ms: number) =>
      putOffRefresh(env.client, queue, configured, { failover: 'fast', nextDueAt: Date.now() + ms });
    await dueIn(40 * 60_000);
    const { spec, state } = await described();
    expect(state).toMatchObject({ paused: true, note: 'relaunch' });
    expect([2_400_000, 2_401_000]).toContain(spec.intervals?.[0]?.every);
    expect(outline(await readSchedulePlan(env.client, queue, [configured], 'fast'))).toEqual(nothing);
    await dueIn(0);
    expect((await described()).spec.intervals).toEqual(before);
    await dueIn(40 * 60_000);
    const { update } = await applySchedules(
      env.client,
      queue,
      [{ ...configured, refresh: { ...configured.refresh, share: 0.9 } }],
      'fast',
    );
    expect(update).toMatchObject([{ drift: false, desired: { id: refreshId(queue) } }]);
    expect((await described()).spec.intervals).toEqual(before);
  });

  it('says which schedule the server refuses, and why', async () => {
    const queue = newQueue();
    const site = { ...nightly, timezone: 'Mars/Base' };
    const refused = applySchedules(env.client, queue, [organization(queue, { site: site })], 'fast');
    await expect(refused).rejects.toThrow(ScheduleRefused);
    await expect(refused).rejects.toThrow(/docs\.acme\.example.*Mars\/Base/);
  });
});

describe('commands on schedules', () => {
  it('pauses with a note and resumes', async () => {
    const queue = newQueue();
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    const view = async () => (await scheduleViews(env.client, queue, [organization(queue)], 'fast')).schedules[0];
    await pauseSchedule(env.client, siteId(queue), 'relaunch');
    expect(await view()).toMatchObject({ paused: true, note: 'relaunch', next: [] });
    await resumeSchedule(env.client, siteId(queue), '');
    expect(await view()).toMatchObject({ paused: false, when: '0 6 * * * Europe/Berlin', configured: true });
    expect((await view())?.next.length).toBeGreaterThan(0);
  });

  it('never triggers a second run beside a running one', async () => {
    const queue = newQueue();
    await applySchedules(env.client, queue, [organization(queue)], 'fast');
    expect(await triggerSchedule(env.client, refreshId(queue))).toEqual({ alreadyRunning: false });
    const { schedule } = env.client;
    const info = async () => (await schedule.getHandle(refreshId(queue)).describe()).info;
    await expect.poll(async () => (await info()).runningActions.length).toBe(1);
    expect(await triggerSchedule(env.client, refreshId(queue))).toEqual({ alreadyRunning: true });
    await expect.poll(async () => (await info()).numActionsSkippedOverlap).toBe(1);
    expect((await info()).runningActions).toHaveLength(1);
  });

  it('backfills the times between two moments, both included, one run at a time', async () => {
    const queue = newQueue();
    await applySchedules(
      env.client,
      queue,
      [organization(queue, { site: { everyMs: 24 * hour, jitterMs: 0 } })],
      'fast',
    );
    const { info, raw } = await env.client.schedule.getHandle(siteId(queue)).describe();
    expect(raw.info?.bufferSize?.toNumber()).toBe(0);
    const day = 24 * hour;
    const latest = (info.nextActionTimes[0]?.getTime() ?? 0) - day;
    const times = await scheduledTimes(env.client, siteId(queue), latest - 2 * day, latest);
    expect(times).toEqual([latest - 2 * day, latest - day, latest]);
    await backfillSchedule(env.client, siteId(queue), latest - 2 * day, latest);
    const waiting = async () => {
      const description = await env.client.schedule.getHandle(siteId(queue)).describe();
      return [description.info.runningActions.length, description.raw.info?.bufferSize?.toNumber()];
    };
    await expect.poll(waiting).toEqual([1, 2]);
  });
});

describe('what schedules have last done', () => {
  it('includes a later run started by hand, from one list for all schedules', async () => {
    const queue = newQueue();
    const configured = [organization(queue)];
    await applySchedules(env.client, queue, configured, 'fast');
    const proxy = await silentProxy(useDevServer().address, () => false);
    const connection = await Connection.connect({ address: proxy.address });
    onTestFinished(() => connection.close());
    const client = new Client({ connection });
    const last = async () => {
      const { schedules } = await scheduleViews(client, queue, configured, 'fast');
      return Object.fromEntries(schedules.map((schedule) => [schedule.id, schedule.last]));
    };
    await triggerSchedule(env.client, siteId(queue));
    const [org, domain] = [`org-${queue}`, 'docs.acme.example'];
    const running = env.client.workflow.getHandle(exportWorkflowId(org, domain));
    const { nativeConnection, namespace = 'default' } = env;
    const worker = await Worker.create({
      connection: nativeConnection,
      namespace,
      taskQueue: queue,
      workflowBundle: workflowBundle(),
    });
    const begun = () => running.describe().catch(() => null);
    await worker.runUntil(expect.poll(begun).not.toBeNull());
    await running.terminate();
    await startExport(env.client, queue, { org, domain, parameters: {} }, 'refuse');
    await expect
      .poll(async () => (await last())[siteId(queue)])
      .toMatchObject([
        {
          workflowId: running.workflowId,
          scheduledAt: null,
          status: 'RUNNING',
          outcome: null,
          detail: 'started by hand',
        },
        { workflowId: expect.stringMatching(/^scheduled:/), scheduledAt: expect.any(String) },
      ]);
    const before = proxy.calls.get('ListWorkflowExecutions') ?? 0;
    expect((await last())[refreshId(queue)]).toEqual([]);
    expect(proxy.calls.get('ListWorkflowExecutions')).toBe(before + 1);
    await running.terminate();
    await expect
      .poll(async () => (await last())[siteId(queue)]?.[0])
      .toMatchObject({ workflowId: running.workflowId, status: 'TERMINATED', outcome: null });
  });
});

describe('times as the server computes them', () => {
  it('at 06:00 in Berlin before and after both changes of the clock', async () => {
    const queue = newQueue();
    await applySchedules(env.client, queue, [organization(queue, { site: { ...nightly, jitterMs: 0 } })], 'fast');
    const between = async (from: string, to: string) =>
      (await scheduledTimes(env.client, siteId(queue), Date.parse(from), Date.parse(to))).map((time) =>
        new Date(time).toISOString(),
      );
    // Summer time ends on 25 October 2026 and begins on 28 March 2027.
    expect(await between('2026-10-24T00:00:00Z', '2026-10-26T12:00:00Z')).toEqual([
      '2026-10-24T04:00:00.000Z',
      '2026-10-25T05:00:00.000Z',
      '2026-10-26T05:00:00.000Z',
    ]);
    expect(await between('2027-03-27T00:00:00Z', '2027-03-29T12:00:00Z')).toEqual([
      '2027-03-27T05:00:00.000Z',
      '2027-03-28T04:00:00.000Z',
      '2027-03-29T04:00:00.000Z',
    ]);
  });

  it('leaves 02:30 out on the day that has none, and takes it once on the day that has two', async () => {
    const queue = newQueue();
    const site = { ...nightly, cron: '30 2 * * *', jitterMs: 0 };
    await applySchedules(env.client, queue, [organization(queue, { site })], 'fast');
    const onDay = async (day: string) => {
      const times = await scheduledTimes(env.client, siteId(queue), Date.parse(day), Date.parse(day) + 24 * hour - 1);
      return times.map((time) => new Date(time).toISOString());
    };
    expect(await onDay('2027-03-28T00:00:00+01:00')).toEqual([]);
    expect(await onDay('2026-10-25T00:00:00+02:00')).toEqual(['2026-10-25T01:30:00.000Z']);
  });

  it.each([
    '0 6 * * *',
    '*/15 8-18 * * mon-fri',
    '5/10 3,9-17/4 1,15 JAN-mar *',
    '0 0 * * 7',
    '0 0 * * 5-7',
    '0 0 * * 1-7/2',
    '0 0 * * 3-7/3',
    '0 0 * * 7/2',
    '0 0 * * 3/2',
    '0 0 * * 4/2',
    '@weekly',
    '@yearly',
    '@hourly',
  ])('reads the cron expression %j as docferry does', async (cron) => {
    const [theirs, ours] = [`cron-${newQueue()}`, newQueue()];
    const action = { type: 'startWorkflow', workflowType: 'theirs', taskQueue: 'nobody' } as const;
    await env.client.schedule.create({ scheduleId: theirs, spec: { cronExpressions: [cron] }, action });
    made.push(theirs);
    const configured = [organization(ours, { site: { cron, timezone: 'UTC', jitterMs: 0 } })];
    await applySchedules(env.client, ours, configured, 'fast');
    const [from, to] = [Date.parse('2026-12-31T00:00:00Z'), Date.parse('2027-03-03T00:00:00Z')];
    const times = await scheduledTimes(env.client, theirs, from, to);
    expect(times.length).toBeGreaterThan(0);
    expect(await scheduledTimes(env.client, siteId(ours), from, to)).toEqual(times);
  });
});
