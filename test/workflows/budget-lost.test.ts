import { describe, expect, it } from 'vitest';
import { BudgetClient, budgetView } from '../../src/budget/client.ts';
import { packed } from '../../src/budget/rules/carry-window.ts';
import { ask } from '../../src/budget/rules/grant-or-wait.ts';
import { leaseMs, type WindowSettings } from '../../src/budget/rules/permits.ts';
import { emptyWindow, type WindowState } from '../../src/budget/rules/window-state.ts';
import { pauseBudgetUpdate } from '../../src/contract.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import { resetRun } from '../tools/temporal/reset-run.ts';
import { devServerEnvironment, forThisFile } from '../tools/temporal/temporal.ts';
import { replayChains, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(devServerEnvironment());

const settings: WindowSettings = { requests: 20, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
const question = { holder: 'sync:a', project: 'prj_1', class: 'refresh' as const, wants: 20, attemptAt: 1 };
const fullForMs = leaseMs + settings.arrivalMs + settings.windowMs;
let orgs = 0;

/** A budget of its own for one test, terminated at the end. */
async function withOrganization(test: (org: string) => Promise<void>): Promise<void> {
  orgs += 1;
  const org = `lost-${process.pid}-${orgs}`;
  try {
    await test(org);
  } finally {
    await env.client.workflow.getHandle(budgetWorkflowId(org)).terminate();
  }
}

const clientOf = (org: string, taskQueue: string, lastGrantIn?: () => Promise<number | null>) =>
  new BudgetClient(env.client, taskQueue, new Map([[org, settings]]), lastGrantIn);

describe('a budget that was lost (B7)', () => {
  it('starts as if its window were full after it was terminated', async () => {
    await withOrganization((org) =>
      withWorker(env, {}, async ({ taskQueue }) => {
        const client = clientOf(org, taskQueue);
        expect(await client.ask(org, { ...question, id: 'q1' })).toMatchObject({ kind: 'granted' });
        const terminatedAt = Date.now();
        await env.client.workflow.getHandle(budgetWorkflowId(org)).terminate();
        const ended = await budgetView(env.client, org);
        expect(ended).toMatchObject({ limit: 20, used: 0, available: 0, holders: [], waiters: [] });
        expect(ended.countsAsFullUntil).toBeCloseTo(terminatedAt + fullForMs, -4.5);
        const answer = await client.ask(org, { ...question, id: 'q2' });
        expect(answer).toMatchObject({ kind: 'wait', reason: 'window-full' });
        expect(answer).toHaveProperty('waitUntil', expect.closeTo(terminatedAt + fullForMs, -4.5));
        expect(await budgetView(env.client, org)).toMatchObject({ used: 0, available: 0 });
      }),
    );
  });

  it('starts as if its window were full when the store tells of a pass that sent requests', async () => {
    await withOrganization((org) =>
      withWorker(env, {}, async ({ taskQueue }) => {
        const client = clientOf(org, taskQueue, async () => Date.now() - 1_000);
        expect(await client.ask(org, { ...question, id: 'q1' })).toMatchObject({ kind: 'wait' });
      }),
    );
  });

  it('does not wait for signs older than a window', async () => {
    await withOrganization((org) =>
      withWorker(env, {}, async ({ taskQueue }) => {
        const client = clientOf(org, taskQueue, async () => Date.now() - 2 * fullForMs);
        expect(await client.ask(org, { ...question, id: 'q1' })).toMatchObject({ kind: 'granted' });
      }),
    );
  });
});

describe('a budget that was reset (B7)', () => {
  it.each([
    ['its first task', 'first', 'none'],
    ['its first task, with all messages since', 'first', 'all'],
    ['a later task', 'latest', 'none'],
    ['a later task, with all messages since', 'latest', 'all'],
  ] as const)('counts its window as full after a reset to %s', async (_to, to, reapply) => {
    await withOrganization((org) =>
      withWorker(env, {}, async ({ taskQueue }) => {
        const client = clientOf(org, taskQueue);
        await client.configure(org);
        expect(await client.ask(org, { ...question, id: 'q1' })).toMatchObject({ kind: 'granted' });
        await client.report(org, { leaseId: 'q1', arrived: [Date.now()] });
        expect(await budgetView(env.client, org)).toMatchObject({ used: 1, available: 19 });
        const resetAt = Date.now();
        const runId = await resetRun(env.client, budgetWorkflowId(org), to, reapply);
        expect(await budgetView(env.client, org)).toMatchObject({ available: 0 });
        const answer = await client.ask(org, { ...question, id: 'q2' });
        expect(answer).toMatchObject({ kind: 'wait', reason: 'window-full' });
        expect(answer).toHaveProperty('waitUntil', expect.closeTo(resetAt + fullForMs, -4.5));
        expect(await budgetView(env.client, org)).toMatchObject({ countsAsFullUntil: expect.any(Number) });
        await replayChains(env, [{ workflowId: budgetWorkflowId(org), runId }]);
      }),
    );
  });
});

it('a budget that was reset forgets who waited and is gone (B2)', async () => {
  await withOrganization((org) =>
    withWorker(env, {}, async ({ taskQueue }) => {
      const client = clientOf(org, taskQueue);
      const ask = (id: string) => client.ask(org, { ...question, holder: `sync:${org}:${id}`, id });
      for (const id of ['a', 'b', 'c']) await ask(id);
      const waiting = async () => (await budgetView(env.client, org)).waiters.map(({ workflowId }) => workflowId);
      expect(await waiting()).toEqual([`sync:${org}:c`]);
      // Another task: of messages in its latest one, a reset lets the run take them again.
      await client.configure(org);
      const runId = await resetRun(env.client, budgetWorkflowId(org), 'latest');
      await expect.poll(waiting).toEqual([]);
      await replayChains(env, [{ workflowId: budgetWorkflowId(org), runId }]);
    }),
  );
});

/** Starts a budget with a ledger. */
async function startWith(org: string, taskQueue: string, carried: WindowState) {
  const [workflowId, args] = [budgetWorkflowId(org), [{ org, settings, carried: packed(carried) }]];
  const handle = await env.client.workflow.start('rateBudget', { workflowId, taskQueue, args });
  return { handle, chain: { workflowId, runId: handle.firstExecutionRunId } };
}

it('a pause lasts as long as it should while the clock of the budget is ahead', async () => {
  await withOrganization((org) =>
    withWorker(env, {}, async ({ taskQueue }) => {
      // Less than a budget takes for a clock that was ahead.
      const later = Date.now() + settings.windowMs / 3;
      const [carried] = ask(emptyWindow(settings, later), { ...question, id: 'q1' }, later);
      const { handle, chain } = await startWith(org, taskQueue, carried);
      await handle.executeUpdate(pauseBudgetUpdate, { args: [{ forMs: 60_000 }] });
      expect((await budgetView(env.client, org)).pausedBy).toBe('paused');
      await replayChains(env, [chain]);
    }),
  );
});

it('a budget whose clock was ahead counts as full for a window, and tells who waits for it (B7)', async () => {
  await withOrganization((org) =>
    withWorker(env, {}, async ({ taskQueue }) => {
      const later = Date.now() + 30 * 86_400_000;
      const [filled] = ask(emptyWindow(settings, later), { ...question, id: 'q1' }, later);
      const [carried] = ask(filled, { ...question, id: 'q2', wants: 20, holder: `sync:${org}:gone` }, later);
      const { chain } = await startWith(org, taskQueue, carried);
      const answer = await clientOf(org, taskQueue).ask(org, { ...question, id: 'q3' });
      expect(answer).toHaveProperty('waitUntil', expect.closeTo(Date.now() + fullForMs, -4.5));
      // The waiter was told, and is gone.
      await expect.poll(async () => (await budgetView(env.client, org)).waiters.length).toBe(1);
      await replayChains(env, [chain]);
    }),
  );
});

describe('a budget on another task queue (B7)', () => {
  it('moves with what it remembers while its workers still answer, and is not left paused', async () => {
    await withOrganization((org) =>
      withWorker(env, {}, async (old) => {
        const before = await clientOf(org, old.taskQueue).ask(org, { ...question, id: 'q1' });
        await withWorker(env, {}, async ({ taskQueue }) => {
          const client = clientOf(org, taskQueue);
          expect(await client.move(org)).toBe('moved');
          expect(await client.move(org)).toBe('in-place');
          expect(await budgetView(env.client, org)).toMatchObject({ used: 10, available: 10, pausedBy: null });
          expect(await client.ask(org, { ...question, id: 'q1' })).toEqual(before);
          const { taskQueue: now } = await env.client.workflow.getHandle(budgetWorkflowId(org)).describe();
          expect(now).toBe(taskQueue);
        });
      }),
    );
  });

  it('is named when nothing answers there, and moves without its memory as if the window were full', async () => {
    await withOrganization(async (org) => {
      const old = `${org}-renamed`;
      await env.client.workflow.start('rateBudget', {
        workflowId: budgetWorkflowId(org),
        taskQueue: old,
        args: [{ org, settings }],
      });
      await withWorker(env, {}, async ({ taskQueue }) => {
        const client = clientOf(org, taskQueue);
        await expect(client.ask(org, { ...question, id: 'q1' })).rejects.toMatchObject({
          code: 'BudgetElsewhere',
          message: expect.stringContaining(old),
          hint: expect.stringContaining(`docferry budget move ${org}`),
        });
        expect(await client.move(org)).toBe('moved-empty');
        expect(await client.ask(org, { ...question, id: 'q2' })).toMatchObject({ kind: 'wait', reason: 'window-full' });
      });
    });
  });
});
