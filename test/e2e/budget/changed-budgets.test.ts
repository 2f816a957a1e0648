import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { BudgetClient } from '../../../src/budget/client.ts';
import { type SyncHandle, startSync, syncHandle } from '../../../src/operations/syncs.ts';
import { budgetWorkflowId } from '../../../src/rules/workflow-ids.ts';
import { Database } from '../../../src/sqlite.ts';
import { type Scene, setScene } from '../../tools/scene.ts';
import { resetRun } from '../../tools/temporal/reset-run.ts';
import { useDevServer, workflowBundle } from '../../tools/temporal/temporal.ts';

/*
 * What operators do to a budget while two syncs use it: the service never gets more than the limit in any window, by its
 * own log, and the syncs store every entry once (B1, B7, S1). The figures are printed, never asserted but for these.
 */

const limit = 20;
const windowMs = 6_000;
const settings = `{ requests: ${limit}, window: 6s, arrival: 2s }`;
const projects = ['prj_1', 'prj_2'];

let scene: Scene;
afterEach(() => scene.end());

/** The sandbox refuses what exceeds the limit; `configured` is what the scene's own configuration says. */
async function begin(configured = settings): Promise<void> {
  const organization = {
    id: 'acme',
    domains: ['docs.acme.example'],
    projects: projects.map((id) => ({ id, entries: 2_500 })),
  };
  scene = await setScene({
    sandbox: { organizations: [organization], requests: limit, windowMs },
    budget: configured,
    projects: projects.slice(1),
  });
}

const received = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics');
const receives = (count: number) =>
  expect.poll(() => received().length, { interval: 20 }).toBeGreaterThanOrEqual(count);

async function startSweeps() {
  const { client, taskQueue, org } = scene;
  return Promise.all(projects.map((project) => startSync(client, taskQueue, { org, project, pass: 'sweep' })));
}

/** Ids of the service's entries that are not stored, and of rows that are stored besides them. */
function differences(project: string): { lost: number; surplus: number } {
  const db = new Database(join(scene.folder, 'data/feedback.db'), { readOnly: true });
  const rows = db.prepare('select id from feedback where project_id = ?').all(project) as { id: string }[];
  db.close();
  const stored = new Set(rows.map(({ id }) => id));
  const truth = new Set([...scene.sandbox.truth(project)].map((entry) => (entry as { id: string }).id));
  return { lost: [...truth].filter((id) => !stored.has(id)).length, surplus: rows.length - truth.size };
}

/** The sweeps end, and everything is as promised. */
async function expectKept(what: string, sweeps: readonly SyncHandle[]): Promise<void> {
  const results = await Promise.all(sweeps.map((sweep) => sweep.result()));
  const most = scene.sandbox.maxInAnyWindow('acme');
  const throttled = received().filter(({ status }) => status === 429).length;
  const [lost, surplus] = (['lost', 'surplus'] as const).map((kind) =>
    projects.reduce((sum, project) => sum + differences(project)[kind], 0),
  );
  const waited = Math.max(...results.map(({ waitedMs }) => waitedMs));
  process.stdout.write(
    `  ${what}: ${received().length} requests, at most ${most} of ${limit} in any ${windowMs / 1_000} s, ${throttled} refused with 429, ${lost} entries lost, ${surplus} doubled, waited ${(waited / 1_000).toFixed(0)} s\n`,
  );
  expect({ throttled, lost, surplus }).toEqual({ throttled: 0, lost: 0, surplus: 0 });
  expect(most).toBeLessThanOrEqual(limit);
  // A test whose budget was never full would show nothing.
  expect(most).toBeGreaterThanOrEqual(limit / 2);
  expect(results.map(({ entries }) => entries.seen)).toEqual([2_500, 2_500]);
}

describe('while two syncs run, the limit holds in every window (B1)', () => {
  it('when the budget is moved to another task queue and back', async () => {
    await begin();
    await scene.startWorker();
    const { client, org, taskQueue, config } = scene;
    const budgets = new Map(config.organizations.map(({ id, budget }) => [id, budget]));
    const { address, namespace } = useDevServer();
    const connection = await NativeConnection.connect({ address });
    const elsewhere = `${taskQueue}-elsewhere`;
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue: elsewhere,
      workflowBundle: workflowBundle(),
    });
    await worker.runUntil(async () => {
      const sweeps = await startSweeps();
      await receives(12);
      expect(await new BudgetClient(client, elsewhere, budgets).move(org)).toBe('moved');
      await receives(32);
      expect(await new BudgetClient(client, taskQueue, budgets).move(org)).toBe('moved');
      await expectKept('moved twice', sweeps);
    });
    await connection.close();
  });

  it('when the budget is terminated, twice', async () => {
    await begin();
    await scene.startWorker();
    const { client, org } = scene;
    const sweeps = await startSweeps();
    for (const count of [12, 32]) {
      await receives(count);
      await client.workflow.getHandle(budgetWorkflowId(org)).terminate('lost');
    }
    await expectKept('terminated twice', sweeps);
  });

  it('when budget and syncs are reset, with and without the messages since', async () => {
    await begin();
    await scene.startWorker();
    const { client, org } = scene;
    await startSweeps();
    const sweeps = projects.map((project) => syncHandle(client, { org, project, pass: 'sweep' }));
    await receives(12);
    await resetRun(client, budgetWorkflowId(org), 'first', 'none');
    for (const { workflowId } of sweeps) await resetRun(client, workflowId, 'first');
    await receives(32);
    for (const { workflowId } of sweeps) await resetRun(client, workflowId, 'latest');
    await resetRun(client, budgetWorkflowId(org), 'latest', 'all');
    await expectKept('reset twice', sweeps);
  });

  it('when a worker with an older configuration and a higher limit joins', async () => {
    await begin('{ requests: 60, window: 6s, arrival: 2s }');
    await scene.startWorkerWith(settings);
    const sweeps = await startSweeps();
    await receives(12);
    await scene.startWorker();
    await expect.poll(scene.logged).toContain('the budget keeps its settings');
    await expectKept('joined by an older configuration', sweeps);
  });
});
