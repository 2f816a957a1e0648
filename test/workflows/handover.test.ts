import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BudgetClient } from '../../src/client/budgets/budget.ts';
import { startExport } from '../../src/client/exports.ts';
import type { Handover } from '../../src/model/temporal-settings.ts';
import { budgetWorkflowId } from '../../src/model/workflow-ids.ts';
import { configureBudgetUpdate } from '../../src/workflows/definitions.ts';
import { devServerEnvironment, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';
import { exportActivities, input, sitePlan } from './export-activities.ts';

/** The real server for exports side by side, the time-skipping one for a budget's hundreds of messages. */
let real: TestWorkflowEnvironment;
let skipping: TestWorkflowEnvironment;
beforeAll(async () => {
  [real, skipping] = [await devServerEnvironment(), await timeSkippingEnvironment()];
});
afterAll(async () => {
  await Promise.all([real?.teardown(), skipping?.teardown()]);
});

async function eventsOf(env: TestWorkflowEnvironment, workflowId: string) {
  return (await env.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
}

/** Time-out of the workflow's tasks, and where each of its steps ran with which heartbeat time-out. */
async function timesOf(env: TestWorkflowEnvironment, workflowId: string) {
  const events = await eventsOf(env, workflowId);
  const { workflowTaskTimeout } = events[0]?.workflowExecutionStartedEventAttributes ?? {};
  const steps = events.flatMap(({ activityTaskScheduledEventAttributes: step }) =>
    step ? [[step.activityType?.name, step.taskQueue?.name, optionalTsToMs(step.heartbeatTimeout)] as const] : [],
  );
  return { taskTimeoutMs: optionalTsToMs(workflowTaskTimeout), steps };
}

const stepTimes = { quick: { short: 3_000, bulk: 6_000 }, steady: { short: 30_000, bulk: 30_000 } };

it('steps of runs with different handovers are watched differently, heavy ones on their own task queue', async () => {
  const env = real;
  const { activities } = exportActivities({ planExport: async () => ({ ...sitePlan, webhooks: ['hook'] }) });
  const receipt = async ({ messageId }: { messageId: string }) => ({ messageId, status: 200, attempts: 1 });
  await withWorker(env, { ...activities, sendWebhook: receipt }, async ({ taskQueue }) => {
    const run = async (handover: Handover) =>
      (await startExport(env.client, taskQueue, { ...input(), handover }, 'join')).handle;
    const handles = { steady: await run('steady'), quick: await run('quick') };
    await Promise.all([handles.steady.result(), handles.quick.result()]);
    for (const handover of ['quick', 'steady'] as const) {
      const { taskTimeoutMs, steps } = await timesOf(env, handles[handover].workflowId);
      expect(taskTimeoutMs).toBe(handover === 'quick' ? 2_000 : 10_000);
      const placed = new Map(steps.map(([name, queue, heartbeat]) => [name, { queue, heartbeat }]));
      const { short, bulk } = stepTimes[handover];
      for (const light of ['startJob', 'readJob']) {
        expect(placed.get(light)).toEqual({ queue: taskQueue, heartbeat: short });
      }
      for (const heavy of ['fetchBundle', 'publishVersion', 'rollOut']) {
        expect(placed.get(heavy)).toEqual({ queue: `${taskQueue}-bulk`, heartbeat: bulk });
      }
      const events = await eventsOf(env, handles[handover].workflowId);
      const child = events.find((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
      const { workflowTaskTimeout } = child?.startChildWorkflowExecutionInitiatedEventAttributes ?? {};
      expect(optionalTsToMs(workflowTaskTimeout)).toBe(taskTimeoutMs);
    }
  });
});

it('a budget follows a changed handover when it continues as new', async () => {
  const env = skipping;
  const settings = { requests: 5, reserve: 0, windowMs: 3_600_000, arrivalMs: 0 };
  await withWorker(env, {}, async ({ taskQueue }) => {
    const budget = (handover: Handover, configuredAt: number) =>
      new BudgetClient(env.client, taskQueue, new Map([['turning', { ...settings, handover, configuredAt }]]));
    await budget('quick', 1).configure('turning');
    const handle = env.client.workflow.getHandle(budgetWorkflowId('turning'));
    const taskTimeout = async () => (await timesOf(env, budgetWorkflowId('turning'))).taskTimeoutMs;
    /** A run takes a few hundred messages. */
    const nextRun = async (handover: Handover, configuredAt: number) => {
      const { runId } = await handle.describe();
      for (let sent = 0; (await handle.describe()).runId === runId; sent += 20) {
        if (sent > 2_000) throw new Error('it did not continue as new');
        await Promise.all(
          Array.from({ length: 20 }, () =>
            handle
              .executeUpdate(configureBudgetUpdate, { args: [{ ...settings, handover, configuredAt }] })
              .catch(() => {}),
          ),
        );
      }
    };
    expect(await taskTimeout()).toBe(2_000);
    await budget('steady', 2).configure('turning');
    await nextRun('steady', 2);
    expect(await taskTimeout()).toBe(10_000);
    await nextRun('steady', 2);
    expect(await taskTimeout()).toBe(10_000);
    await budget('quick', 3).configure('turning');
    await nextRun('quick', 3);
    expect(await taskTimeout()).toBe(2_000);
    await handle.terminate();
  });
}, 120_000);
