import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { startExport } from '../../src/operations/exports.ts';
import { scheduledRunId, workflowIdOf } from '../../src/rules/workflow-ids.ts';
import type { ScheduledInput } from '../../src/schedules/rules/desired-schedules.ts';
import type { runScheduled } from '../../src/workflows/runs.ts';
import { bundle, sitePlan, targetsOf } from '../tools/temporal/export-activities.ts';
import { devServerEnvironment, forThisFile } from '../tools/temporal/temporal.ts';
import { replayChains, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(devServerEnvironment());

let targets = 0;
const site = () => {
  targets += 1;
  return { kind: 'export', org: 'acme', domain: `scheduled-${targets}.acme.example` } as const;
};

const start = (taskQueue: string, target: ScheduledInput) =>
  env.client.workflow.start<typeof runScheduled>('runScheduled', {
    workflowId: scheduledRunId(target),
    taskQueue,
    args: [{ ...target, failover: 'tolerant' }],
  });

/** An export that publishes and is not rolled out. */
const exportActivities: Partial<Activities> = {
  planExport: async () => ({
    ...sitePlan,
    jobTimeoutMs: 60_000,
    jobAttempts: 1,
    targets: targetsOf('directory:./site'),
  }),
  startJob: async () => ({ jobId: 'job-1' }),
  readJob: async () => ({ state: 'completed', status: 'completed', percent: 100, pageCount: 1, error: null }),
  fetchBundle: async () => bundle,
  publishVersion: async () => ({ url: 'http://bundles.example/x', heldAt: null }),
  rollOut: async () => {
    throw ApplicationFailure.nonRetryable('no room', 'RolloutFailed');
  },
  discardStaged: async () => {},
  recordExportRun: async () => {},
};

/** An export that waits inside an activity until it is told to go on. */
function heldExport() {
  let release = () => {};
  let begin = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const activities: Partial<Activities> = {
    ...exportActivities,
    fetchBundle: async () => {
      begin();
      await held;
      return bundle;
    },
  };
  return { activities, begun, release: () => release() };
}

/** Waits until the cancellation has been passed on to the work. */
async function cancelArrives(target: ScheduledInput): Promise<void> {
  const requested = async () => {
    const { events } = await env.client.workflow.getHandle(workflowIdOf(target)).fetchHistory();
    return events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes);
  };
  await expect.poll(requested).toBe(true);
}

describe('runScheduled', () => {
  it('runs an export under its fixed id and tells the version and the targets that failed', async () => {
    const target = site();
    await withWorker(env, exportActivities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, target)).result();
      const child = await env.client.workflow.getHandle(workflowIdOf(target)).describe();
      expect(result).toMatchObject({
        workflowId: workflowIdOf(target),
        runId: child.runId,
        outcome: 'rollout-failed',
        detail: expect.stringMatching(/^\d{8}T\d{6}Z-abababababab; not rolled out to directory:\.\/site$/),
      });
      expect(child.searchAttributes).toMatchObject({ DocferryOrg: ['acme'], DocferryDomain: [target.domain] });
      await replayChains(env, [{ workflowId: workflowIdOf(target), runId: child.runId }]);
    });
  });

  it('leaves what a person has started alone and records itself as skipped', async () => {
    const { activities, begun, release } = heldExport();
    const target = site();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { org, domain } = target;
      const byHand = await startExport(env.client, taskQueue, { org, domain, parameters: {} }, 'refuse');
      await begun;
      expect(await (await start(taskQueue, target)).result()).toEqual({
        workflowId: workflowIdOf(target),
        runId: null,
        outcome: 'skipped',
        detail: 'it was already running',
      });
      release();
      expect(await byHand.handle.result()).toMatchObject({ outcome: 'rollout-failed' });
    });
  });

  it("fails with the type and message of the work's own failure", async () => {
    const activities: Partial<Activities> = {
      ...exportActivities,
      planExport: async () => {
        throw ApplicationFailure.nonRetryable('the site is not configured', 'UnknownSite');
      },
    };
    await withWorker(env, activities, async ({ taskQueue }) => {
      const failed = await (await start(taskQueue, site())).result().catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(WorkflowFailedError);
      expect((failed as WorkflowFailedError).cause).toMatchObject({
        type: 'UnknownSite',
        message: 'the site is not configured',
        // As the child had it: which workflow, which step, and why.
        cause: { name: 'ChildWorkflowFailure', cause: { cause: { type: 'UnknownSite' } } },
      });
    });
  });

  it('ends without a failure when a person cancels the work', async () => {
    const { activities, begun, release } = heldExport();
    const target = site();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const run = await start(taskQueue, target);
      await begun;
      await env.client.workflow.getHandle(workflowIdOf(target)).cancel();
      await cancelArrives(target);
      release();
      expect(await run.result()).toMatchObject({ outcome: 'cancelled' });
    });
  });

  it('cancels the work it started when it is cancelled itself', async () => {
    const { activities, begun, release } = heldExport();
    const target = site();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const run = await start(taskQueue, target);
      await begun;
      await run.cancel();
      await cancelArrives(target);
      release();
      await expect(run.result()).rejects.toMatchObject({ cause: expect.any(CancelledFailure) });
      const child = await env.client.workflow.getHandle(workflowIdOf(target)).describe();
      expect(child.status.name).toBe('CANCELLED');
    });
  });

  it('leaves the work running when it is terminated', async () => {
    const { activities, begun, release } = heldExport();
    const target = site();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const run = await start(taskQueue, target);
      await begun;
      await run.terminate();
      release();
      expect(await env.client.workflow.getHandle(workflowIdOf(target)).result()).toMatchObject({ pages: 7 });
    });
  });
});
