import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startExport } from '../../src/client/exports.ts';
import type { Handover } from '../../src/model/temporal-settings.ts';
import { devServerEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';
import { exportActivities, input, sitePlan } from './export-activities.ts';

let env: TestWorkflowEnvironment;
beforeAll(async () => {
  env = await devServerEnvironment();
});
afterAll(async () => {
  await env?.teardown();
});

async function eventsOf(workflowId: string) {
  return (await env.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
}

/** Time-out of the workflow's tasks, and where each of its steps ran with which heartbeat time-out. */
async function timesOf(workflowId: string) {
  const events = await eventsOf(workflowId);
  const { workflowTaskTimeout } = events[0]?.workflowExecutionStartedEventAttributes ?? {};
  const steps = events.flatMap(({ activityTaskScheduledEventAttributes: step }) =>
    step ? [[step.activityType?.name, step.taskQueue?.name, optionalTsToMs(step.heartbeatTimeout)] as const] : [],
  );
  return { taskTimeoutMs: optionalTsToMs(workflowTaskTimeout), steps };
}

const stepTimes = { quick: { short: 3_000, bulk: 6_000 }, steady: { short: 30_000, bulk: 30_000 } };

it('steps of runs with different handovers are watched differently, heavy ones on their own task queue', async () => {
  const { activities } = exportActivities({ planExport: async () => ({ ...sitePlan, webhooks: ['hook'] }) });
  const receipt = async ({ messageId }: { messageId: string }) => ({ messageId, status: 200, attempts: 1 });
  await withWorker(env, { ...activities, sendWebhook: receipt }, async ({ taskQueue }) => {
    const run = async (handover: Handover) =>
      (await startExport(env.client, taskQueue, { ...input(), handover }, 'join')).handle;
    const handles = { steady: await run('steady'), quick: await run('quick') };
    await Promise.all([handles.steady.result(), handles.quick.result()]);
    for (const handover of ['quick', 'steady'] as const) {
      const { taskTimeoutMs, steps } = await timesOf(handles[handover].workflowId);
      expect(taskTimeoutMs).toBe(handover === 'quick' ? 2_000 : 10_000);
      const placed = new Map(steps.map(([name, queue, heartbeat]) => [name, { queue, heartbeat }]));
      const { short, bulk } = stepTimes[handover];
      for (const light of ['startJob', 'readJob']) {
        expect(placed.get(light)).toEqual({ queue: taskQueue, heartbeat: short });
      }
      for (const heavy of ['fetchBundle', 'publishVersion', 'rollOut']) {
        expect(placed.get(heavy)).toEqual({ queue: `${taskQueue}-bulk`, heartbeat: bulk });
      }
      const events = await eventsOf(handles[handover].workflowId);
      const child = events.find((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
      const { workflowTaskTimeout } = child?.startChildWorkflowExecutionInitiatedEventAttributes ?? {};
      expect(optionalTsToMs(workflowTaskTimeout)).toBe(taskTimeoutMs);
    }
  });
});
