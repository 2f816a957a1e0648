import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { expect, it } from 'vitest';
import { BudgetClient } from '../../src/budget/client.ts';
import { configureBudgetUpdate } from '../../src/contract.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import type { Failover } from '../../src/temporal/rules/failover.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

it('a budget follows a changed failover when it continues as new', async () => {
  const settings = { requests: 5, reserve: 0, windowMs: 3_600_000, arrivalMs: 0 };
  await withWorker(env, {}, async ({ taskQueue }) => {
    const budget = (failover: Failover, configuredAt: number) =>
      new BudgetClient(env.client, taskQueue, new Map([['turning', { ...settings, failover, configuredAt }]]));
    await budget('fast', 1).configure('turning');
    const handle = env.client.workflow.getHandle(budgetWorkflowId('turning'));
    const taskTimeout = async () => {
      const [started] = (await handle.fetchHistory()).events ?? [];
      return optionalTsToMs(started?.workflowExecutionStartedEventAttributes?.workflowTaskTimeout);
    };
    /** A run takes a few hundred messages. */
    const nextRun = async (failover: Failover, configuredAt: number) => {
      const { runId } = await handle.describe();
      for (let sent = 0; (await handle.describe()).runId === runId; sent += 20) {
        if (sent > 2_000) throw new Error('it did not continue as new');
        await Promise.all(
          Array.from({ length: 20 }, () =>
            handle
              .executeUpdate(configureBudgetUpdate, { args: [{ ...settings, failover, configuredAt }] })
              .catch(() => {}),
          ),
        );
      }
    };
    expect(await taskTimeout()).toBe(2_000);
    await budget('tolerant', 2).configure('turning');
    await nextRun('tolerant', 2);
    expect(await taskTimeout()).toBe(10_000);
    await nextRun('tolerant', 2);
    expect(await taskTimeout()).toBe(10_000);
    await budget('fast', 3).configure('turning');
    await nextRun('fast', 3);
    expect(await taskTimeout()).toBe(2_000);
    await handle.terminate();
  });
});
