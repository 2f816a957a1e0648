import { describe, expect, it } from 'vitest';
import { exportHandle, startExport } from '../../src/operations/exports.ts';
import { scheduledRunId } from '../../src/rules/workflow-ids.ts';
import { waitForResult } from '../../src/temporal/runs.ts';
import type { runScheduled } from '../../src/workflows/runs.ts';
import { bundle, exportActivities, input } from '../tools/temporal/export-activities.ts';
import { resetRun } from '../tools/temporal/reset-run.ts';
import { devServerEnvironment, forThisFile } from '../tools/temporal/temporal.ts';
import { replayChains, withWorker } from '../tools/temporal/workflow-run.ts';

/* `temporal workflow reset` of runs in their middle; `budget-lost.test.ts` has the budget's. */

const env = await forThisFile(devServerEnvironment());

/** An export whose bundle comes when it is told to, in the attempt after the reset. */
function heldExport() {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const scene = exportActivities({
    fetchBundle: async () => {
      await released;
      return bundle;
    },
  });
  const begun = () => expect.poll(() => scene.calls.fetchBundle?.length ?? 0);
  return { ...scene, begun, release: () => release() };
}

describe('a run that is reset in its middle', () => {
  it.each([
    ['its first task, and starts another job', 'first', 2],
    ['its latest task', 'latest', 1],
  ] as const)('goes on from %s', async (_what, to, jobs) => {
    const { activities, calls, begun, release } = heldExport();
    const request = input();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startExport(env.client, taskQueue, request, 'refuse');
      const { workflowId } = handle;
      await begun().toBe(1);
      const runId = await resetRun(env.client, workflowId, to);
      release();
      const result = await exportHandle(env.client, request.org, request.domain).result();
      expect(result).toMatchObject({ outcome: 'published', runId });
      await replayChains(env, [{ workflowId, runId }]);
    });
    expect(calls.startJob).toHaveLength(jobs);
    // Both runs keep the download in the same place, and one row is written: that of the run that ended.
    expect(new Set(calls.fetchBundle?.map(({ stageId }) => stageId)).size).toBe(1);
    expect(calls.recordExportRun).toHaveLength(1);
  });

  it.each(['started', 'joined'])('is still waited for by a command that has %s it', async (begun) => {
    const scene = heldExport();
    const request = input();
    await withWorker(env, scene.activities, async ({ taskQueue }) => {
      const { handle } = await startExport(env.client, taskQueue, request, 'refuse');
      const joined = exportHandle(env.client, request.org, request.domain);
      const result = waitForResult(env.client, begun === 'started' ? handle : joined, {});
      await scene.begun().toBe(1);
      await resetRun(env.client, handle.workflowId, 'latest');
      const runId = await resetRun(env.client, handle.workflowId, 'first');
      scene.release();
      expect(await result).toMatchObject({ outcome: 'published', runId });
    });
  });

  it('is waited for until it is terminated', async () => {
    const { activities, begun, release } = heldExport();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startExport(env.client, taskQueue, input(), 'refuse');
      const result = expect(waitForResult(env.client, handle, {})).rejects.toThrow('by anna');
      await begun().toBe(1);
      await resetRun(env.client, handle.workflowId, 'latest');
      await env.client.workflow.getHandle(handle.workflowId).terminate('by anna');
      await result;
      release();
    });
  });

  it.each(['the work', 'the scheduled run'])('lets a schedule go on, whether %s was reset', async (what) => {
    const { activities, begun, release } = heldExport();
    const { org, domain, failover } = input();
    const target = { kind: 'export', org, domain, failover } as const;
    await withWorker(env, activities, async ({ taskQueue }) => {
      const workflowId = scheduledRunId(target);
      await env.client.workflow.start<typeof runScheduled>('runScheduled', { workflowId, taskQueue, args: [target] });
      await begun().toBe(1);
      await resetRun(env.client, what === 'the work' ? workflowId.slice('scheduled:'.length) : workflowId, 'latest');
      release();
      const scheduled = env.client.workflow.getHandle<typeof runScheduled>(workflowId);
      expect(await scheduled.result()).toMatchObject({ outcome: 'published' });
    });
  });
});
