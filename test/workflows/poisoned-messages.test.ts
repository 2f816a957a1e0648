import { describe, expect, it } from 'vitest';
import { BudgetClient, budgetView } from '../../src/budget/client.ts';
import type { WindowSettings } from '../../src/budget/rules/permits.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

const settings: WindowSettings = { requests: 20, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
const question = { holder: 'sync:a', project: 'prj_1', class: 'refresh' as const, wants: 20, attemptAt: 1 };

describe('messages that make no sense (X5)', () => {
  it('harm no budget: signals are ignored and counted, updates refused with the field', async () => {
    await withWorker(env, {}, async ({ taskQueue }) => {
      const client = new BudgetClient(env.client, taskQueue, new Map([['acme', settings]]));
      const handle = env.client.workflow.getHandle(budgetWorkflowId('acme'));
      // The time-skipping server may answer the first call with nothing but UNKNOWN on a busy machine.
      await client.configure('acme').catch(() => client.configure('acme'));
      for (const args of [[], [null], ['x'], [{ leaseId: 'q' }], [{ leaseId: '', arrived: [] }]]) {
        await handle.signal('reportLease', ...args);
      }
      await handle.signal('permitsFreed', { never: 'expected' });
      const refused = (update: string, arg: unknown) =>
        expect(handle.executeUpdate<unknown, [unknown]>(update, { args: [arg] })).rejects;
      await refused('configureBudget', { requests: 50 }).toMatchObject({
        cause: { message: expect.stringMatching(/^reserve: expected/) },
      });
      await refused('askPermits', undefined).toMatchObject({
        cause: { message: expect.stringMatching(/^id: expected/) },
      });
      await refused('overrideBudget', undefined).toMatchObject({
        cause: { message: expect.stringMatching(/^forMs: /) },
      });
      await refused('pauseBudget', {}).toMatchObject({ cause: { message: expect.stringMatching(/^forMs: /) } });
      expect(await client.ask('acme', { ...question, id: 'q1' })).toMatchObject({ kind: 'granted' });
      expect(await budgetView(env.client, 'acme')).toMatchObject({ limit: 20, used: 10, ignored: 5 });
      await handle.terminate();
    });
  });

  it('end a workflow that was started by hand with what only a run hands to the next', async () => {
    const [org, domain] = ['initech', 'docs.initech.example'];
    const inputs: [string, string, object][] = [
      ['refreshFeedback', 'carried', { org, carried: {} }],
      ['syncFeedback', 'carried', { org, project: 'prj_1', pass: 'sweep', carried: { tries: 1 } }],
      ['exportSite', 'awaited', { org, domain, awaited: { approval: 'yes' } }],
      ['exportSite', 'refused', { org, domain, refused: 7 }],
    ];
    await withWorker(env, {}, async ({ taskQueue }) => {
      for (const [type, field, input] of inputs) {
        const options = { workflowId: `by-hand:${type}:${field}`, taskQueue, args: [input] };
        await expect(env.client.workflow.execute(type, options)).rejects.toMatchObject({
          cause: { type: 'InvalidInput', message: `${field}: only continue-as-new sets it` },
        });
      }
    });
  });

  it('end a budget that was started by hand without input, and the next message starts a sound one', async () => {
    await withWorker(env, {}, async ({ taskQueue }) => {
      const workflowId = budgetWorkflowId('globex');
      const wrong = await env.client.workflow.start('rateBudget', { workflowId, taskQueue });
      await expect(wrong.result()).rejects.toMatchObject({ cause: { type: 'InvalidInput' } });
      const client = new BudgetClient(env.client, taskQueue, new Map([['globex', settings]]));
      await client.configure('globex');
      expect(await budgetView(env.client, 'globex')).toMatchObject({ limit: 20, ignored: 0 });
      await env.client.workflow.getHandle(workflowId).terminate();
    });
  });
});
