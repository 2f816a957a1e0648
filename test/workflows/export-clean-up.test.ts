import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { ExportInput } from '../../src/exports/rules/site-export.ts';
import { type ExportHandle, exportState } from '../../src/operations/exports.ts';
import { gate } from '../tools/proxies/gate.ts';
import {
  bundle,
  digest,
  exportActivities,
  exportStarter,
  input,
  reading,
  sitePlan,
  targetsOf,
} from '../tools/temporal/export-activities.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { untilChildrenEnd, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

/** Waits until the workflow knows of its cancellation and has asked the running activity to end. */
async function untilStepIsCancelled(handle: ExportHandle) {
  const asked = async () =>
    (await handle.fetchHistory()).events?.some((event) => event.activityTaskCancelRequestedEventAttributes);
  await expect.poll(asked, { interval: 100 }).toBe(true);
}

const start = exportStarter(env);

describe('an export that is cancelled or cannot clean up', () => {
  it('ends as it ended while the database is away, and has its row written later', async () => {
    let away = true;
    const { activities, calls } = exportActivities({
      recordExportRun: async () => {
        if (away) throw ApplicationFailure.retryable('no connection', 'StoreUnavailable');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, input());
      const result = await handle.result();
      expect(result.outcome).toBe('published');
      away = false;
      const { workflowId, runId } = result;
      await untilChildrenEnd(env, handle);
      expect(calls.recordExportRun?.at(-1)).toMatchObject({ workflowId, runId, outcome: 'published' });
    });
  });

  it('leaves its record and its own failure even when cleaning up fails', async () => {
    const { activities, calls } = exportActivities({
      fetchBundle: async () => {
        throw ApplicationFailure.nonRetryable('the archive is too large', 'ArchiveTooLarge');
      },
      discardStaged: async () => {
        throw ApplicationFailure.nonRetryable('read-only file system', 'StoreUnavailable');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, input());
      await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'ArchiveTooLarge' } } });
    });
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'failed' }]);
  });

  it('goes on to its targets though the download cannot be removed', async () => {
    const readOnly = () => Promise.reject(ApplicationFailure.nonRetryable('read-only file system', 'StoreUnavailable'));
    const { activities, calls } = exportActivities({
      discardStaged: readOnly,
      planExport: async () => ({ ...sitePlan, jobTimeoutMs: 60_000, jobAttempts: 1, targets: targetsOf('web') }),
    });
    const version = expect.stringMatching(/^\d{8}T\d{6}Z-abababababab$/);
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ outcome: 'published', version });
    });
    expect(calls.rollOut).toHaveLength(1);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'published', version, contentDigest: digest }]);
  });

  it('cleans up and leaves its record when cancelled', async () => {
    const { activities, calls } = exportActivities({ readJob: async () => reading({ percent: 10 }) });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      await expect
        .poll(() => exportState(env.client, request.org, request.domain))
        .toMatchObject({ phase: 'rendering' });
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow();
    });
    expect(calls.discardStaged).toMatchObject([{ storeId: 'store-1' }]);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'cancelled' }]);
  });

  // The last ones: after an activity that outlasts a timer, the time-skipping server skips no more time.

  it('lets the running step end before it cleans up and records the cancellation', async () => {
    const order: string[] = [];
    const asked = gate();
    const { activities } = exportActivities({
      fetchBundle: async () => {
        await asked.opened;
        order.push('fetched');
        return bundle;
      },
      recordExportRun: async ({ outcome }) => {
        order.push(outcome);
      },
      discardStaged: async () => {
        order.push('discarded');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      // Time is skipped only while a client waits for the result.
      const ended = expect(handle.result()).rejects.toThrow();
      await expect
        .poll(() => exportState(env.client, request.org, request.domain), { interval: 20 })
        .toMatchObject({ phase: 'fetching' });
      await handle.cancel();
      await untilStepIsCancelled(handle);
      asked.open();
      await ended;
    });
    expect(order).toEqual(['fetched', 'cancelled', 'discarded']);
  });

  it('has its webhooks told although it is cancelled while its end is written', async () => {
    const recording = gate();
    const written = gate();
    const { activities, calls } = exportActivities({
      planExport: async () => ({
        ...sitePlan,
        jobTimeoutMs: 60_000,
        jobAttempts: 1,
        targets: [],
        webhooks: ['chat', 'pages'],
      }),
      recordExportRun: async () => {
        recording.open();
        await written.opened;
      },
      sendWebhook: async ({ messageId }) => ({ messageId, status: 204, attempts: 1 }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      // The cancellation is in the history once the workflow task is extended: with fast failover before the step times out.
      const request: ExportInput = { ...input(), failover: 'fast' };
      const handle = await start(taskQueue, request);
      // Time is skipped only while a client waits for the result.
      const ended = handle.result();
      await recording.opened;
      await handle.cancel();
      const cancelled = async () =>
        (await handle.fetchHistory()).events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes);
      await expect.poll(cancelled).toBe(true);
      written.open();
      const { outcome, version } = await ended;
      expect(outcome).toBe('published');
      await untilChildrenEnd(env, handle);
      const event = { type: 'export.finished', data: { outcome: 'published', version, domain: request.domain } };
      expect(calls.sendWebhook?.map(({ webhook }) => webhook).sort()).toEqual(['chat', 'pages']);
      for (const sent of calls.sendWebhook ?? []) expect(sent).toMatchObject({ event });
    });
    // Twice on a machine that lets the step stand still for longer than it may take.
    expect([...new Set(calls.recordExportRun?.map(({ outcome }) => outcome))]).toEqual(['published']);
  });
});
