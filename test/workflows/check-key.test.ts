import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { askForKeyCheck } from '../../src/client/budgets/ask-key-checks.ts';
import type { KeyCheck } from '../../src/model/budget/key-check.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { replayChain, withWorker } from '../tools/temporal/workflow-run.ts';

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
      expect(await askForKeyCheck(env.client, taskQueue, 'acme', 'quick')).toEqual(accepted);
      expect(asked).toEqual(['acme']);
    });
    const { workflowId, runId } = await env.client.workflow.getHandle('check:acme').describe();
    await replayChain(env, { workflowId, runId });
  });

  it('asks once only, also when that fails', async () => {
    let attempts = 0;
    const checkKey = async (): Promise<KeyCheck> => {
      attempts += 1;
      throw ApplicationFailure.retryable('the budget does not answer');
    };
    await withWorker(env, { checkKey }, async ({ taskQueue }) => {
      await expect(askForKeyCheck(env.client, taskQueue, 'failing', 'quick')).rejects.toThrow();
      expect(attempts).toBe(1);
    });
  });
});
