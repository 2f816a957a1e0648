import type { WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { describe, expect, it, vi } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { BudgetClient, budgetView } from '../../src/budget/client.ts';
import type { PermitAnswer, WindowSettings } from '../../src/budget/rules/permits.ts';
import type { BudgetInput } from '../../src/budget/rules/window-state.ts';
import { permitsFreedSignal, retryKeySignal, type Workflows } from '../../src/contract.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import type { AuditEntry } from '../../src/runs/rules/audit.ts';
import { devServerEnvironment, forThisFile, workflowBundle } from '../tools/temporal/temporal.ts';
import { replayChains, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(devServerEnvironment());

const settings: WindowSettings = { requests: 20, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
let orgs = 0;

/** A budget of its own for one test, replayed at the end. */
async function withBudget(
  test: (budget: {
    org: string;
    client: BudgetClient;
    ask: (id: string, holder?: string) => Promise<PermitAnswer>;
  }) => Promise<void>,
  activities: Partial<Activities> = {},
): Promise<void> {
  orgs += 1;
  const org = `budget-${process.pid}-${orgs}`;
  await withWorker(env, activities, async ({ taskQueue }) => {
    const client = new BudgetClient(env.client, taskQueue, new Map([[org, settings]]));
    const ask = (id: string, holder = 'sync:a') => {
      const question = { id, holder, project: 'prj_1', class: 'refresh' as const, wants: 20, attemptAt: 1 };
      // As an activity's next attempts would: Temporal refuses questions while tasks time out at a busy worker.
      return vi.waitFor(() => client.ask(org, question), { timeout: 300_000, interval: 250 });
    };
    await test({ org, client, ask });
    const handle = env.client.workflow.getHandle(budgetWorkflowId(org));
    const { raw } = await handle.describe();
    const runId = raw.workflowExecutionInfo?.firstRunId;
    if (!runId) throw new Error('the budget has no first run');
    await replayChains(env, [{ workflowId: handle.workflowId, runId }]);
    await handle.terminate();
  });
}

async function signalsOf(handle: WorkflowHandle): Promise<(string | null | undefined)[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).map((event) => event.workflowExecutionSignaledEventAttributes?.signalName);
}

describe('rateBudget on the real server', () => {
  it('starts with the first question and grants', async () => {
    await withBudget(async ({ org, ask }) => {
      const answer = await ask('q1');
      expect(answer).toMatchObject({ kind: 'granted', leaseId: 'q1' });
      expect(await budgetView(env.client, org)).toMatchObject({
        limit: 20,
        used: 10,
        available: 10,
        holders: [{ workflowId: 'sync:a', permits: 10 }],
      });
    });
  });

  it('answers a repeated question with the same lease', async () => {
    await withBudget(async ({ org, ask }) => {
      const [first, second] = [await ask('q1'), await ask('q1')];
      expect(second).toEqual(first);
      expect((await budgetView(env.client, org)).used).toBe(10);
    });
  });

  it('never grants more than the limit to many askers at once', async () => {
    await withBudget(async ({ org, ask }) => {
      const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(`q${i}`, `sync:${i}`)));
      const permits = answers.reduce((sum, a) => sum + (a.kind === 'granted' ? a.notBefore.length : 0), 0);
      expect(permits).toBeLessThanOrEqual(20);
      expect((await budgetView(env.client, org)).used).toBe(permits);
      expect(answers.some((a) => a.kind === 'wait')).toBe(true);
    });
  });

  it('takes over a changed configuration', async () => {
    await withBudget(async ({ org, ask }) => {
      await ask('q1');
      const smaller = new BudgetClient(env.client, 'unused', new Map([[org, { ...settings, requests: 10 }]]));
      await smaller.configure(org);
      expect(await budgetView(env.client, org)).toMatchObject({ limit: 10, used: 10, available: 0 });
      expect((await ask('q2', 'sync:b')).kind).toBe('wait');
    });
  });

  it('does not go back to the settings of a worker with an older configuration', async () => {
    await withBudget(async ({ org, client }) => {
      await client.configure(org);
      const configure = (requests: number, configuredAt: number) =>
        new BudgetClient(env.client, 'unused', new Map([[org, { ...settings, requests, configuredAt }]])).configure(
          org,
        );
      const now = Date.now();
      for (const [requests, configuredAt] of [
        [10, now - 1_000],
        [20, now - 2_000],
      ] as const) {
        expect(await configure(requests, configuredAt)).toEqual({ configuredAt: now - 1_000 });
        expect(await budgetView(env.client, org)).toMatchObject({ limit: 10, configuredAt: now - 1_000 });
      }
    });
  });

  it('refuses another installation that has the same organization id', async () => {
    await withBudget(async ({ org, client }) => {
      const of = (installation: string) =>
        new BudgetClient(env.client, 'unused', new Map([[org, { ...settings, installation }]]));
      await client.configure(org);
      const question = { holder: 'sync:a', project: 'prj_1', class: 'refresh' as const, wants: 1, attemptAt: 1 };
      await of('store-1').configure(org);
      expect(await of('store-1').ask(org, { ...question, id: 'q1' })).toMatchObject({ kind: 'granted' });
      const refusal = { cause: { message: expect.stringContaining('another installation') } };
      await expect(of('store-2').ask(org, { ...question, id: 'q2' })).rejects.toMatchObject(refusal);
      await expect(of('store-2').configure(org)).rejects.toMatchObject(refusal);
    });
  });

  it('is overridden for a time, then follows the configuration again', async () => {
    await withBudget(async ({ org, client, ask }) => {
      expect(await client.override(org, { requests: 3, forMs: null })).toMatchObject({ limit: 3, available: 3 });
      expect(await ask('q1')).toMatchObject({ kind: 'granted', notBefore: expect.any(Array) });
      // What a worker configures meanwhile does not end it.
      await client.configure(org);
      expect(await budgetView(env.client, org)).toMatchObject({ limit: 3, used: 2, override: { requests: 3 } });
      expect(await client.override(org, null)).toMatchObject({ limit: 20, used: 2, available: 18, override: null });
      const set = await client.override(org, { requests: 2, reserve: 1, forMs: 3_600_000 }, { who: 'anna' });
      expect(set.override).toEqual({ requests: 2, reserve: 1, until: expect.any(Number), by: 'anna' });
      expect((await ask('q2', 'sync:b')).kind).toBe('wait');
      await client.override(org, { requests: 2, reserve: 1, forMs: 1_000 });
      await expect.poll(() => budgetView(env.client, org)).toMatchObject({ limit: 20 });
    });
  });

  it('refuses invalid overrides, and says why', async () => {
    await withBudget(async ({ org, client }) => {
      await client.configure(org);
      for (const override of [{ requests: 0 }, { requests: 2.5 }, { reserve: 20 }, { requests: 5, reserve: 5 }]) {
        const refused = client.override(org, { ...override, forMs: null });
        await expect(refused).rejects.toMatchObject({ cause: { message: expect.stringMatching(/must be/) } });
      }
    });
  });

  it('grants nothing while paused by hand', async () => {
    await withBudget(async ({ org, client, ask }) => {
      expect(await client.pause(org, { forMs: null })).toMatchObject({ pausedBy: 'paused', pausedUntil: null });
      expect(await ask('q1')).toMatchObject({ kind: 'wait', reason: 'paused' });
      expect(await client.pause(org, null)).toMatchObject({ pausedBy: null, available: 20 });
      expect(await ask('q2')).toMatchObject({ kind: 'granted' });
    });
  });

  it('wakes waiters when resumed, although an operator tried to cancel it', async () => {
    await withBudget(async ({ org, client, ask }) => {
      // Any running workflow may be the waiter: what counts is the signal that reaches it.
      const waiter = await env.client.workflow.start('rateBudget', {
        workflowId: `waiter:${org}`,
        taskQueue: 'nobody-works-here',
        args: [{ org, settings }],
      });
      await client.pause(org, { forMs: null });
      expect(await ask('q1', waiter.workflowId)).toMatchObject({ kind: 'wait', reason: 'paused' });
      await env.client.workflow.getHandle(budgetWorkflowId(org)).cancel();
      const [woken] = (await client.pause(org, null)).waiters;
      expect(woken?.workflowId).toBe(waiter.workflowId);
      expect(woken?.expectedAt).toBeLessThanOrEqual(Date.now());
      await expect.poll(() => signalsOf(waiter)).toContain(permitsFreedSignal.name);
      await waiter.terminate();
    });
  });

  it('lets one request try a refused key, and all others when it works', async () => {
    await withBudget(async ({ org, client, ask }) => {
      const first = await ask('q1');
      if (first.kind !== 'granted') throw new Error('not granted');
      await client.report(org, { leaseId: 'q1', arrived: [first.grantedAt], accepted: false, unauthorized: true });
      expect(await ask('q2', 'sync:b')).toMatchObject({ kind: 'wait', reason: 'unauthorized' });
      // Settings alone say nothing about the key.
      await client.configure(org);
      expect(await ask('q3', 'sync:b')).toMatchObject({ kind: 'wait', reason: 'unauthorized' });
      await env.client.workflow.getHandle(budgetWorkflowId(org)).signal(retryKeySignal);
      const probe = await ask('q4', 'sync:b');
      expect(probe).toMatchObject({ kind: 'granted', notBefore: [expect.any(Number)] });
      expect(await ask('q5')).toMatchObject({ kind: 'wait', reason: 'probing' });
      await client.report(org, { leaseId: 'q4', arrived: [first.grantedAt + 1_000], accepted: true });
      expect(await ask('q6')).toMatchObject({ kind: 'granted' });
    });
  });

  it('keeps who changed it by hand, and what came from elsewhere', async () => {
    const kept: AuditEntry[] = [];
    const recordAuditEntry = async (entry: AuditEntry) => void kept.push(entry);
    await withBudget(
      async ({ org, client }) => {
        const anna = { who: 'anna', reason: 'sale' };
        await client.override(org, { requests: 9, forMs: 60_000 }, anna);
        await client.override(org, null, anna);
        await client.pause(org, { forMs: null }, anna);
        // As the Temporal UI sends it.
        await env.client.workflow.getHandle(budgetWorkflowId(org)).executeUpdate('pauseBudget', { args: [null] });
        await expect(client.override(org, { requests: 0, forMs: null }, anna)).rejects.toThrow();
        await expect.poll(() => kept.length).toBe(4);
        const auditEntries = kept.map(({ action, who, reason, subject, detail }) => [
          action,
          who,
          reason,
          subject,
          detail,
        ]);
        expect(auditEntries.sort()).toEqual([
          ['budget-pause', 'anna', 'sale', null, '{"forMs":null}'],
          ['budget-reset', 'anna', 'sale', null, '{}'],
          ['budget-resume', 'Temporal UI or other client', null, null, '{}'],
          ['budget-set', 'anna', 'sale', null, '{"forMs":60000,"requests":9}'],
        ]);
        expect(new Set(kept.map(({ entryId }) => entryId)).size).toBe(4);
        expect(kept.map((entry) => entry.org)).toEqual([org, org, org, org]);
      },
      { recordAuditEntry },
    );
  });

  it('keeps who changed its settings, dated ahead or not, and returns to docferry.yaml when it is reset', async () => {
    const kept: AuditEntry[] = [];
    const recordAuditEntry = async (entry: AuditEntry) => void kept.push(entry);
    await withBudget(
      async ({ org, client }) => {
        await client.configure(org);
        const raise = { ...settings, requests: 500, configuredAt: Date.now() + 86_400_000 };
        for (let times = 0; times < 2; times += 1) {
          await env.client.workflow
            .getHandle(budgetWorkflowId(org))
            .executeUpdate('configureBudget', { args: [raise] });
        }
        await client.configure(org);
        expect(await budgetView(env.client, org)).toMatchObject({ limit: 500, configured: { requests: 500 } });
        await client.override(org, null, { who: 'anna' });
        expect(await budgetView(env.client, org)).toMatchObject({ limit: 20, configured: { requests: 20 } });
        await expect.poll(() => kept.length).toBe(3);
        expect(kept.map(({ action, who, detail }) => [action, who, detail]).sort()).toEqual([
          ['budget-configure', 'Temporal UI or other client', '{"requests":500}'],
          ['budget-configure', 'anna', '{"requests":20}'],
          ['budget-reset', 'anna', '{}'],
        ]);
      },
      { recordAuditEntry },
    );
  });

  it('replays where the worker of its first task is gone before its first questions', async () => {
    const taskQueue = `restarted-${process.pid}`;
    const org = taskQueue;
    const { nativeConnection: connection, namespace = 'default' } = env;
    const worker = () => Worker.create({ connection, taskQueue, workflowBundle: workflowBundle(), debugMode: true });
    const workflowId = budgetWorkflowId(org);
    const args: [BudgetInput] = [{ org, settings }];
    const handle = await env.client.workflow.start<Workflows['rateBudget']>('rateBudget', {
      workflowId,
      taskQueue,
      args,
    });
    const isBegun = async () =>
      (await handle.fetchHistory()).events?.some((event) => event.workflowTaskCompletedEventAttributes);
    await (await worker()).runUntil(() => expect.poll(isBegun).toBe(true));

    const client = new BudgetClient(env.client, taskQueue, new Map([[org, settings]]));
    const ids = ['q1', 'q2', 'q3', 'q4', 'q5'];
    const rest = { project: 'prj_1', class: 'refresh', wants: 20, attemptAt: 1 } as const;
    const answers = Promise.all(ids.map((id) => client.ask(org, { id, holder: `sync:${id}`, ...rest })));
    const isAdmitted = (updateId: string) =>
      env.client.workflowService
        .pollWorkflowExecutionUpdate({ namespace, updateRef: { workflowExecution: { workflowId }, updateId } })
        .then(
          () => true,
          () => false,
        );
    for (const id of ids) await expect.poll(() => isAdmitted(id)).toBe(true);
    await (await worker()).runUntil(answers);
    await replayChains(env, [{ workflowId, runId: handle.firstExecutionRunId }]);
    await handle.terminate();
  });

  it('continues as new without losing its ledger, its leases or a question asked meanwhile', async () => {
    await withBudget(async ({ org, client, ask }) => {
      const kept = await ask('kept', 'sync:keeper');
      if (kept.kind !== 'granted') throw new Error('not granted');
      const handle = env.client.workflow.getHandle(budgetWorkflowId(org));
      const before = (await handle.describe()).runId;
      // Some rounds before the run is long enough, and some for the next one.
      for (let round = 0, later = 0; round < 50 && later < 5; round += 1) {
        await Promise.all(
          Array.from({ length: 8 }, async (_, i) => {
            const answer = await ask(`r${round}-${i}`, `sync:${i}`);
            if (answer.kind === 'granted') await client.report(org, { leaseId: answer.leaseId, arrived: [] });
          }),
        );
        if ((await handle.describe()).runId !== before) later += 1;
      }
      expect((await handle.describe()).runId).not.toBe(before);
      expect(await ask('kept', 'sync:keeper')).toEqual(kept);
      expect((await budgetView(env.client, org)).used).toBe(kept.notBefore.length);
    });
  });
});
