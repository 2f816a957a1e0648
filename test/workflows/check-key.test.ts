import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { askForKeyCheck, BudgetClient, budgetView } from '../../src/budget/client.ts';
import type { KeyCheck } from '../../src/budget/rules/permits.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { replayChains, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

const accepted: KeyCheck = { outcome: 'accepted', project: 'prj_1', clockAheadMs: 0 };

describe('checkKey', () => {
  it("returns what the worker's question came to", async () => {
    const asked: string[] = [];
    const checkKey = async ({ org }: { org: string }) => {
      asked.push(org);
      return accepted;
    };
    await withWorker(env, { checkKey }, async ({ taskQueue }) => {
      expect(await askForKeyCheck(env.client, taskQueue, 'acme', 'fast')).toEqual(accepted);
      expect(asked).toEqual(['acme']);
    });
    const { workflowId, runId } = await env.client.workflow.getHandle('check:acme').describe();
    await replayChains(env, [{ workflowId, runId }]);
  });

  it('is started once by the 401s of programs, waits for its permit, and stops nobody when the key is accepted', async () => {
    const asked: object[] = [];
    const checkKey = async (ask: object): Promise<KeyCheck> => {
      asked.push(ask);
      return asked.length === 1 ? { outcome: 'no-permit', until: (await env.currentTimeMs()) + 60_000 } : accepted;
    };
    const org = 'doubted';
    const settings = { requests: 20, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
    await withWorker(env, { checkKey }, async ({ taskQueue }) => {
      const client = new BudgetClient(env.client, taskQueue, new Map([[org, settings]]));
      const program = { project: 'gateway:g', class: 'on-demand' as const, wants: 1, attemptAt: 0 };
      for (const id of ['q1', 'q2']) {
        const more = { id, holder: 'gateway:g', program: { share: null } };
        expect(await client.ask(org, { ...program, ...more })).toMatchObject({ kind: 'granted' });
        await client.report(org, { leaseId: id, arrived: [await env.currentTimeMs()], doubted: true });
      }
      const check = env.client.workflow.getHandle('check:doubted:gateway');
      await expect.poll(() => check.describe().catch(() => null)).not.toBeNull();
      expect(await check.result()).toEqual(accepted);
      expect(asked).toEqual([
        { org, patient: true },
        { org, patient: true },
      ]);
      expect(await budgetView(env.client, org)).toMatchObject({ pausedBy: null, limit: 20 });
      // It may be continuing as new at this moment.
      await env.client.workflow
        .getHandle(budgetWorkflowId(org))
        .terminate()
        .catch(() => {});
    });
  });

  it('asks another worker while one lacks the organization, at most three more times', async () => {
    const lacks = () => ApplicationFailure.retryable("not in this worker's configuration", 'InvalidInput');
    const answers: (KeyCheck | null)[] = [null, null, accepted, null, null, null, null, accepted];
    const checkKey = async (): Promise<KeyCheck> => answers.shift() ?? Promise.reject(lacks());
    await withWorker(env, { checkKey }, async ({ taskQueue }) => {
      expect(await askForKeyCheck(env.client, taskQueue, 'elsewhere', 'fast')).toEqual(accepted);
      const { runId } = await env.client.workflow.getHandle('check:elsewhere').describe();
      await replayChains(env, [{ workflowId: 'check:elsewhere', runId }]);
      await expect(askForKeyCheck(env.client, taskQueue, 'elsewhere', 'fast')).rejects.toThrow();
      expect(answers).toEqual([accepted]);
    });
  });

  it('asks once only, also when that fails', async () => {
    let attempts = 0;
    const checkKey = async (): Promise<KeyCheck> => {
      attempts += 1;
      throw ApplicationFailure.retryable('the budget does not answer');
    };
    await withWorker(env, { checkKey }, async ({ taskQueue }) => {
      await expect(askForKeyCheck(env.client, taskQueue, 'failing', 'fast')).rejects.toThrow();
      expect(attempts).toBe(1);
    });
  });
});
