import { Client, Connection } from '@temporalio/client';
import { afterEach, describe, expect, it } from 'vitest';
import { busyWindow, holderOf, questionOf, settingsOf } from '../../bench/budget/budget-waiters-model.ts';
import { BudgetClient, budgetView } from '../../src/budget/client.ts';
import { packed } from '../../src/budget/rules/carry-window.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import { ChaosScene } from './chaos-scene.ts';

/** A budget for which a thousand passes wait loses its worker and comes back (B1, B5). Times are printed, never asserted. */

const org = 'crowded';
const [waiters, slots] = [1_000, 990];
let scene: ChaosScene;
let connection: Connection | undefined;

afterEach(async () => {
  await connection?.close();
  await scene.end();
});

describe('kill -9 of the worker of a budget with a thousand waiters', () => {
  it('costs nothing that was granted, nor a waiter its place, and the next worker grants again (B1)', async () => {
    scene = await ChaosScene.begin({
      sandbox: { requests: 10, windowMs: 10_000 },
      budget: '{ requests: 10, window: 10s }',
    });
    await scene.orphanedServer();
    const worker = await scene.worker();
    connection = await Connection.connect({ address: scene.temporalAddress });
    const client = new Client({ connection });
    await client.workflow.start('rateBudget', {
      workflowId: budgetWorkflowId(org),
      taskQueue: 'docferry',
      workflowTaskTimeout: 2_000,
      args: [{ org, settings: settingsOf(slots), carried: packed(busyWindow(waiters, slots, Date.now())) }],
    });
    const budget = new BudgetClient(client, 'docferry', new Map([[org, settingsOf(slots)]]));
    // Most of a run, which the next worker must replay.
    for (let i = 0; i < 60; i += 1) expect((await budget.ask(org, questionOf(holderOf(i)))).kind).toBe('wait');
    const before = await budgetView(client, org);
    expect(before).toMatchObject({ used: slots, available: 0 });

    await worker.kill('SIGKILL');
    const killed = Date.now();
    scene.start(['worker']);
    // A person goes before all that wait.
    const person = 'sync:crowded:person:on-demand';
    const ask = () => budget.ask(org, questionOf(person, { class: 'on-demand' })).catch(() => null);
    await expect.poll(ask, { timeout: 60_000 }).toMatchObject({ kind: 'wait', place: 1 });
    process.stderr.write(`  ${waiters} waiters, worker killed: answers after ${(Date.now() - killed) / 1_000} s\n`);
    const after = await budgetView(client, org);
    expect(after.used).toBe(slots);
    expect(after.waiters).toHaveLength(waiters + 1);
    const order = after.waiters.map(({ workflowId }) => workflowId).slice(1);
    expect(order).toEqual(before.waiters.map(({ workflowId }) => workflowId));

    await budget.override(org, { requests: slots + 1, forMs: null });
    await expect.poll(ask, { timeout: 60_000 }).toMatchObject({ kind: 'granted' });
    process.stderr.write(`  ${waiters} waiters, worker killed: grants after ${(Date.now() - killed) / 1_000} s\n`);
    expect((await budgetView(client, org)).used).toBe(slots + 1);
  });
});
