import { ApplicationFailure } from '@temporalio/common';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { expect, it } from 'vitest';
import { BudgetClient } from '../../src/budget/client.ts';
import { startExport } from '../../src/operations/exports.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import type { Failover } from '../../src/temporal/rules/failover.ts';
import { exportActivities, input, sitePlan } from '../tools/temporal/export-activities.ts';
import { devServerEnvironment, forThisFile } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(devServerEnvironment());

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

/** Time-out of the tasks of the first child. */
async function childTaskTimeout(workflowId: string) {
  const events = await eventsOf(workflowId);
  const child = events.find((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
  return optionalTsToMs(child?.startChildWorkflowExecutionInitiatedEventAttributes?.workflowTaskTimeout);
}

const stepTimes = { fast: { short: 3_000, bulk: 6_000 }, tolerant: { short: 30_000, bulk: 30_000 } };

it('steps of runs with different failovers are watched differently, heavy ones on their own task queue', async () => {
  const { activities } = exportActivities({ planExport: async () => ({ ...sitePlan, webhooks: ['hook'] }) });
  const receipt = async ({ messageId }: { messageId: string }) => ({ messageId, status: 200, attempts: 1 });
  await withWorker(env, { ...activities, sendWebhook: receipt }, async ({ taskQueue }) => {
    const run = async (failover: Failover) =>
      (await startExport(env.client, taskQueue, { ...input(), failover }, 'join')).handle;
    const handles = { tolerant: await run('tolerant'), fast: await run('fast') };
    await Promise.all([handles.tolerant.result(), handles.fast.result()]);
    for (const failover of ['fast', 'tolerant'] as const) {
      const { taskTimeoutMs, steps } = await timesOf(handles[failover].workflowId);
      expect(taskTimeoutMs).toBe(failover === 'fast' ? 2_000 : 10_000);
      const placed = new Map(steps.map(([name, queue, heartbeat]) => [name, { queue, heartbeat }]));
      const { short, bulk } = stepTimes[failover];
      for (const light of ['startJob', 'readJob']) {
        expect(placed.get(light)).toEqual({ queue: taskQueue, heartbeat: short });
      }
      for (const heavy of ['fetchBundle', 'publishVersion', 'rollOut']) {
        expect(placed.get(heavy)).toEqual({ queue: `${taskQueue}-bulk`, heartbeat: bulk });
      }
      expect(await childTaskTimeout(handles[failover].workflowId)).toBe(taskTimeoutMs);
    }
  });
});

it('what a budget hands to the audit while the database is down follows the failover of the budget', async () => {
  const recordAuditEntry = async () => {
    throw ApplicationFailure.nonRetryable('down');
  };
  await withWorker(env, { recordAuditEntry }, async ({ taskQueue }) => {
    for (const [failover, taskTimeoutMs] of [
      ['fast', 2_000],
      ['tolerant', 10_000],
    ] as const) {
      const org = `org-${process.pid}-${failover}`;
      const settings = { requests: 20, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000, failover };
      await new BudgetClient(env.client, taskQueue, new Map([[org, settings]])).override(org, {
        requests: 9,
        forMs: null,
      });
      const workflowId = budgetWorkflowId(org);
      await expect.poll(() => childTaskTimeout(workflowId)).toBe(taskTimeoutMs);
      await env.client.workflow.getHandle(workflowId).terminate();
    }
  });
});
