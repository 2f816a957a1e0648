import { Context } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { announcePhase, ExportRunning, exportState, pollNow, startExport } from '../../src/operations/exports.ts';
import { type Access, Installation } from '../../src/operations/installation.ts';
import { Operator } from '../../src/operations/operator.ts';
import type { AuditEntry } from '../../src/runs/rules/audit.ts';
import { gate } from '../tools/proxies/gate.ts';
import {
  bundle,
  completed,
  exportActivities,
  exportStarter,
  input,
  reading,
} from '../tools/temporal/export-activities.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

/** Skips the wait for the first reading of the job, which else passes as on a clock until a result is awaited. */
const firstPollMs = 6_000;

const start = exportStarter(env);

describe('a running export', () => {
  it('is joined by an equal request and refuses another one (E1)', async () => {
    const { activities, calls } = exportActivities({ readJob: async () => reading() });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input({ paths: ['/b', '/a'] });
      const handle = await start(taskQueue, request);
      await expect
        .poll(() => exportState(env.client, request.org, request.domain))
        .toMatchObject({ phase: 'rendering' });
      const same = { ...request, parameters: { paths: ['/a', '/b'] } };
      expect((await startExport(env.client, taskQueue, same, 'join')).joined).toBe(true);
      await expect(startExport(env.client, taskQueue, same, 'refuse')).rejects.toThrow(ExportRunning);
      const other = { ...request, parameters: { force: true } };
      await expect(startExport(env.client, taskQueue, other, 'join')).rejects.toThrow(/other parameters \(2 paths\)/);
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow();
    });
    expect(calls.startJob).toHaveLength(1);
  });

  it('is the only one that a worker is asked about: a start is audited though no worker answers', async () => {
    const audited: AuditEntry[] = [];
    const access = {
      taskQueue: 'without-worker',
      failover: 'fast' as const,
      connect: async () => env.client,
      openAudit: async () => ({ recordAuditEntries: async (rows: AuditEntry[]) => void audited.push(...rows) }),
      askWorker: () => Promise.reject(new Error('no worker answers')),
    };
    const operator = new Operator(new Installation(access as unknown as Access), { who: 'anna' });
    const { org, domain } = input();
    const { handle } = await operator.startExport({ org, domain }, {});
    await expect(operator.startExport({ org, domain }, {})).rejects.toThrow('no worker answers');
    expect(await operator.end()).toBeNull();
    expect(audited).toMatchObject([{ action: 'start-export', subject: domain, who: 'anna' }]);
    await handle.terminate();
  });

  it('polls at once when asked, and refuses when no poll is due', async () => {
    let polls = 0;
    const { activities } = exportActivities({
      readJob: async () => (++polls === 1 ? reading() : completed),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      await env.sleep(firstPollMs);
      // Between two polls: the time-skipping server loses an update that arrives with the end of a timer.
      const waiting = { progress: { polls: 1 }, nextPoll: { at: expect.any(Number), reason: expect.any(String) } };
      await expect
        .poll(() => exportState(env.client, request.org, request.domain))
        .toMatchObject({ phase: 'rendering', ...waiting });
      expect(await pollNow(env.client, request.org, request.domain)).toMatchObject({ phase: 'rendering' });
      await handle.result();
      await expect(pollNow(env.client, request.org, request.domain)).rejects.toThrow();
    });
    expect(polls).toBe(2);
  });

  // The last one: after an activity that outlasts a timer, the time-skipping server skips no more time.
  it('shows how far the bundle is by heartbeats, which cost no events', async () => {
    const released = gate();
    const verifying = gate();
    const publishing = gate();
    const { activities } = exportActivities({
      fetchBundle: async () => {
        Context.current().heartbeat({ phase: 'fetching', offset: 300, total: 1_000, bytesPerSecond: 50 });
        await verifying.opened;
        Context.current().heartbeat({ phase: 'verifying', offset: 1_000, total: 1_000, bytesPerSecond: 50 });
        await publishing.opened;
        Context.current().heartbeat({ phase: 'publishing', offset: 1_000, total: 1_000, bytesPerSecond: 50 });
        await released.opened;
        return bundle;
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      await env.sleep(firstPollMs);
      const now = () => exportState(env.client, request.org, request.domain);
      await expect
        .poll(now)
        .toMatchObject({ phase: 'fetching', download: { offset: 300, total: 1_000, bytesPerSecond: 50 } });
      verifying.open();
      await expect.poll(now).toMatchObject({ phase: 'verifying', download: null });
      const { events } = await handle.fetchHistory();
      expect(events?.filter((event) => event.workflowExecutionSignaledEventAttributes)).toEqual([]);
      // A verification that lasts is told; what comes after it is not.
      await announcePhase(env.client, handle.workflowId, 'verifying');
      publishing.open();
      await expect.poll(now).toMatchObject({ phase: 'publishing', download: null });
      released.open();
      await handle.result();
    });
  });
});
