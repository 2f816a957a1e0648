import type { Client } from '@temporalio/client';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { scheduleId } from '../../src/rules/workflow-ids.ts';
import type { ConfiguredOrganization } from '../../src/schedules/rules/desired-schedules.ts';
import { scheduleViews } from '../../src/schedules/schedule-views.ts';
import {
  applySchedules,
  namedSchedules,
  pauseSchedule,
  readSchedulePlan,
  triggerSchedule,
} from '../../src/schedules/schedules.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { silentProxy } from '../tools/proxies/silent-proxy.ts';
import { useDevServer } from '../tools/temporal/temporal.ts';

const limits = { attemptMs: 1_000, longPollMs: 30_000, queryMs: 1_000 };
const queue = `limits-${process.pid}`;
const site = (domain: string) => ({ domain, schedule: { cron: '0 6 * * *', timezone: 'UTC', jitterMs: 0 } });
const configured = [
  { id: `org-${queue}`, projects: [], sites: [site('one.example'), site('two.example')] },
] satisfies ConfiguredOrganization[];
const idOf = (domain: string) => scheduleId(queue, { kind: 'export', org: `org-${queue}`, domain });

async function connected(address: string, attemptMs = limits.attemptMs): Promise<Client> {
  const { namespace } = useDevServer();
  const given = { address: true, namespace: true };
  const client = await connectClient(
    { address, namespace, taskQueue: queue, profile: null, given },
    { ...limits, attemptMs },
  );
  onTestFinished(() => client.connection.close());
  return client;
}

/** A client whose calls of this method get lost as said. */
async function losing(
  method: string,
  isLost: (number: number, request: Buffer) => boolean | 'cancelled',
  attemptMs?: number,
) {
  const proxy = await silentProxy(
    useDevServer().address,
    (called, number, request) => called === method && isLost(number, request),
  );
  return { client: await connected(proxy.address, attemptMs), count: () => proxy.calls.get(method) ?? 0 };
}

afterEach(async () => {
  const { namespace, address } = useDevServer();
  const given = { address: true, namespace: true };
  const client = await connectClient({ address, namespace, taskQueue: queue, profile: null, given });
  await applySchedules(client, queue, [], 'fast');
  await client.connection.close();
});

describe('a call that Temporal never answers', () => {
  // A busy Temporal may answer the second attempt too late as well.
  it('is made again when it only reads', async () => {
    await applySchedules(await connected(useDevServer().address), queue, configured, 'fast');
    const { client, count } = await losing('DescribeSchedule', (number) => number === 1);
    const { scheduleId: id } = await client.schedule.getHandle(idOf('one.example')).describe();
    expect(id).toBe(idOf('one.example'));
    expect(count()).toBeGreaterThanOrEqual(2);
  });

  it('is made again when the server was the first to notice', async () => {
    const { client, count } = await losing('DescribeSchedule', (number) => number === 1 && 'cancelled');
    await expect(client.schedule.getHandle(idOf('one.example')).describe()).rejects.toThrow();
    expect(count()).toBeGreaterThanOrEqual(2);
  });

  it('is not made again once the caller has given it up', async () => {
    const { client, count } = await losing('DescribeSchedule', () => true, 3_600_000);
    const givenUp = new AbortController();
    const describe = () => client.schedule.getHandle(idOf('one.example')).describe();
    const described = expect(client.withAbortSignal(givenUp.signal, describe)).rejects.toThrow();
    await expect.poll(count, { interval: 10 }).toBe(1);
    givenUp.abort();
    await described;
    expect(count()).toBe(1);
  });

  it('is made again when it asks a worker', async () => {
    const { client, count } = await losing('QueryWorkflow', (number) => number === 1);
    // The next attempts reach Temporal, which knows no such workflow.
    await expect(client.workflow.getHandle('no-such-workflow').query('state')).rejects.toThrow();
    expect(count()).toBeGreaterThanOrEqual(2);
  });

  it('is made again when it carries the id of its request', async () => {
    const { client, count } = await losing('CreateSchedule', (number) => number === 1);
    await applySchedules(
      client,
      queue,
      configured.map((org) => ({ ...org, sites: org.sites.slice(0, 1) })),
      'fast',
    );
    expect(count()).toBeGreaterThanOrEqual(2);
  });

  it('fails after three attempts', async () => {
    const { client, count } = await losing('DescribeSchedule', () => true);
    await expect(client.schedule.getHandle(idOf('one.example')).describe()).rejects.toThrow();
    expect(count()).toBe(3);
  });

  it('fails when its connection is closed before the next attempt', async () => {
    const { client, count } = await losing('DescribeSchedule', () => true);
    const described = expect(client.schedule.getHandle(idOf('one.example')).describe()).rejects.toThrow();
    await expect.poll(count, { interval: 10 }).toBe(1);
    await client.connection.close();
    // An attempt that throws in its timer would end the process.
    await described;
    expect(count()).toBe(1);
  });

  it('ends at a deadline of the caller that is sooner', async () => {
    // Without the deadline the first attempt would outlast the test.
    const { client, count } = await losing('DescribeSchedule', () => true, 3_600_000);
    const describe = () => client.schedule.getHandle(idOf('one.example')).describe();
    await expect(client.withDeadline(Date.now() + 200, describe)).rejects.toThrow();
    expect(count()).toBeLessThanOrEqual(1);
  });

  it('is not made again when it triggers, pauses or signals', async () => {
    await applySchedules(await connected(useDevServer().address), queue, configured, 'fast');
    const patches = await losing('PatchSchedule', () => true);
    await expect(triggerSchedule(patches.client, idOf('one.example'))).rejects.toThrow();
    await expect(pauseSchedule(patches.client, idOf('one.example'), '')).rejects.toThrow();
    expect(patches.count()).toBe(2);
    const signals = await losing('SignalWorkflowExecution', () => true);
    await expect(signals.client.workflow.getHandle('no-such-workflow').signal('hello')).rejects.toThrow();
    expect(signals.count()).toBe(1);
  });
});

describe('schedules that Temporal does not describe', () => {
  /** A client for which the first schedule is never described. */
  async function withoutOne() {
    const direct = await connected(useDevServer().address);
    await applySchedules(direct, queue, configured, 'fast');
    await expect.poll(async () => (await namedSchedules(direct, queue)).length).toBe(2);
    const { client } = await losing('DescribeSchedule', (_, request) => request.includes('one.example'));
    return client;
  }

  it('are listed as such, beside the others', async () => {
    const { schedules, missing, unread } = await scheduleViews(await withoutOne(), queue, configured, 'fast');
    expect(schedules.map(({ id }) => id)).toEqual([idOf('two.example')]);
    expect(unread.map(({ id }) => id)).toEqual([idOf('one.example')]);
    expect(missing).toEqual([]);
  });

  it('are neither created nor changed nor deleted by a plan', async () => {
    const client = await withoutOne();
    const changed = configured.map((org) => ({
      ...org,
      sites: org.sites.map((each) => ({ ...each, schedule: { ...each.schedule, cron: '0 7 * * *' } })),
    }));
    const plan = await readSchedulePlan(client, queue, changed, 'fast');
    expect(plan).toMatchObject({ create: [], delete: [], unread: [idOf('one.example')] });
    expect(plan.update.map(({ desired: { id } }) => id)).toEqual([idOf('two.example')]);
    expect((await readSchedulePlan(client, queue, [], 'fast')).delete.map(({ id }) => id)).toEqual([
      idOf('two.example'),
    ]);
  });
});
