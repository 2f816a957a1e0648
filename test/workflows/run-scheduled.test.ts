import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { noEntries } from '../../src/feedback/rules/feedback-entry.ts';
import type { SyncInput } from '../../src/feedback/rules/sync.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { type ScheduleTarget, scheduledRunId, workflowIdOf } from '../../src/rules/workflow-ids.ts';
import type { runScheduled } from '../../src/workflows/run-scheduled.ts';
import { bundle, sitePlan, targetsOf } from '../tools/temporal/export-activities.ts';
import { devServerEnvironment, forThisFile } from '../tools/temporal/temporal.ts';
import { replayChain, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(devServerEnvironment());

let targets = 0;
const syncTarget = (pass: SyncInput['pass'] = 'incremental') => {
  targets += 1;
  return { kind: 'sync', org: 'acme', project: `prj_${targets}`, pass } as const;
};

const start = (taskQueue: string, target: ScheduleTarget) =>
  env.client.workflow.start<typeof runScheduled>('runScheduled', {
    workflowId: scheduledRunId(target),
    taskQueue,
    args: [target],
  });

/** A pass that ends with its first leg. */
function passActivities(replace: Partial<Activities> = {}) {
  const classes: string[] = [];
  const activities: Partial<Activities> = {
    beginPass: async () => ({ storeId: 'store-1', dateFrom: null, dateTo: null }),
    fetchPages: async ({ class: permits }) => {
      classes.push(permits);
      const entries = { ...noEntries, seen: 7, inserted: 2, updated: 1 };
      const leg = {
        pages: 1,
        entries,
        requests: 1,
        throttled: 0,
        tries: 0,
        waiting: null,
        forecast: null,
      };
      return { outcome: 'complete', ...leg };
    },
    finishPass: async ({ pages, entries, requests, throttled }) => ({
      watermark: null,
      verifiedUpTo: null,
      pages,
      entries,
      requests,
      throttled,
      webhooks: [],
    }),
    ...replace,
  };
  return { activities, classes };
}

/** A pass that waits inside an activity until it is told to go on. */
function heldPass() {
  let release = () => {};
  let begin = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const { activities } = passActivities({
    beginPass: async () => {
      begin();
      await held;
      return { storeId: 'store-1', dateFrom: null, dateTo: null };
    },
  });
  return { activities, begun, release: () => release() };
}

/** Waits until the cancellation has been passed on to the work. */
async function cancelArrives(target: ScheduleTarget): Promise<void> {
  const requested = async () => {
    const { events } = await env.client.workflow.getHandle(workflowIdOf(target)).fetchHistory();
    return events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes);
  };
  await expect.poll(requested).toBe(true);
}

describe('runScheduled', () => {
  it.each(['incremental', 'sweep'] as const)(
    'runs the %s pass under its fixed id, with permits of its class',
    async (pass) => {
      const { activities, classes } = passActivities();
      const target = syncTarget(pass);
      await withWorker(env, activities, async ({ taskQueue }) => {
        const result = await (await start(taskQueue, target)).result();
        const child = await env.client.workflow.getHandle(workflowIdOf(target)).describe();
        expect(result).toEqual({
          workflowId: workflowIdOf(target),
          runId: child.runId,
          outcome: 'completed',
          detail: '7 seen, 2 new, 1 changed',
        });
        expect(child.searchAttributes).toMatchObject({ DocferryOrg: ['acme'], DocferryProject: [target.project] });
        await replayChain(env, { workflowId: workflowIdOf(target), runId: child.runId });
      });
      expect(classes).toEqual([pass]);
    },
  );

  it('runs an export and tells the version and the targets that failed', async () => {
    const target = { kind: 'export', org: 'acme', domain: 'docs.acme.example' } as const;
    const activities: Partial<Activities> = {
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
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, target)).result();
      expect(result).toMatchObject({ workflowId: 'export:acme:docs.acme.example', outcome: 'rollout-failed' });
      expect(result.detail).toMatch(/^\d{8}T\d{6}Z-abababababab; not rolled out to directory:\.\/site$/);
    });
  });

  it('leaves what a person has started alone and records itself as skipped', async () => {
    const { activities, begun, release } = heldPass();
    const target = syncTarget();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { org, project, pass } = target;
      const byHand = await startSync(env.client, taskQueue, { org, project, pass, class: 'on-demand' });
      await begun;
      expect(await (await start(taskQueue, target)).result()).toEqual({
        workflowId: workflowIdOf(target),
        runId: null,
        outcome: 'skipped',
        detail: 'it was already running',
      });
      release();
      expect((await byHand.result()).entries.seen).toBe(7);
    });
  });

  it("fails with the type and message of the work's own failure", async () => {
    const { activities } = passActivities({
      fetchPages: async () => {
        throw ApplicationFailure.nonRetryable('the key was refused', 'Unauthorized');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const failed = await (await start(taskQueue, syncTarget())).result().catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(WorkflowFailedError);
      expect((failed as WorkflowFailedError).cause).toMatchObject({
        type: 'Unauthorized',
        message: 'the key was refused',
        // As the child had it: which workflow, which step, and why.
        cause: { name: 'ChildWorkflowFailure', cause: { cause: { type: 'Unauthorized' } } },
      });
    });
  });

  it('ends without a failure when a person cancels the work', async () => {
    const { activities, begun, release } = heldPass();
    const target = syncTarget();
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
    const { activities, begun, release } = heldPass();
    const target = syncTarget();
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
    const { activities, begun, release } = heldPass();
    const target = syncTarget();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const run = await start(taskQueue, target);
      await begun;
      await run.terminate();
      release();
      expect(await env.client.workflow.getHandle(workflowIdOf(target)).result()).toMatchObject({ pages: 1 });
    });
  });
});
