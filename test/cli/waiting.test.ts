import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { accessOf } from '../../src/cli/operator.ts';
import { askWorker } from '../../src/cli/waiting.ts';
import { exportState, startExport } from '../../src/operations/exports.ts';
import { type Access, Installation } from '../../src/operations/installation.ts';
import { Operator } from '../../src/operations/operator.ts';
import { docferryJson } from '../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../tools/scene.ts';

let scene: Scene;
afterEach(() => scene?.end());

/** Fails tasks of workflows like a worker, until Temporal lets nobody ask the workflow any more. */
async function failTasks({ client, taskQueue }: Scene, ask: () => Promise<unknown>): Promise<void> {
  const { namespace } = client.options;
  for (let failed = 0; failed < 2; failed += 1) {
    const task = { namespace, taskQueue: { name: taskQueue }, identity: 'fails tasks' };
    const { taskToken } = await client.workflowService.pollWorkflowTaskQueue(task);
    await client.workflowService.respondWorkflowTaskFailed({ namespace, taskToken, identity: task.identity });
  }
  await expect(ask()).rejects.toMatchObject({ cause: { details: expect.stringContaining('failed state') } });
}

it('asks an export again whose first tasks have failed, until a worker completes one', async () => {
  scene = await setScene({ sandbox: { jobSeconds: 3_600 } });
  const { client, taskQueue, org, domain } = scene;
  await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
  const ask = () => exportState(client, org, domain);
  await failTasks(scene, ask);
  const slowly = () => sleep(2_000).then(ask);
  // A second question would begin, but end by its deadline before Temporal refuses it.
  await expect(askWorker(client, taskQueue, slowly, 4_900)).rejects.toMatchObject({
    code: 'NoWorker',
    message: `a worker polls the task queue ${taskQueue}, but completes no task of this workflow`,
  });
  let refused = 0;
  const counting = () =>
    ask().catch((error: unknown) => {
      refused += 1;
      throw error;
    });
  const [state] = await Promise.all([
    askWorker(client, taskQueue, counting, 120_000),
    expect
      .poll(() => refused)
      .toBeGreaterThan(0)
      .then(() => scene.startWorker()),
  ]);
  expect(state).toMatchObject({ parameters: {} });
});

it('pauses and limits a budget once though it asks for the window after it again', async () => {
  scene = await setScene();
  const { config, org, configFile } = scene;
  await scene.startWorker();
  const twice: Access['askWorker'] = async (_client, ask) => {
    await ask();
    return ask();
  };
  const installation = new Installation({ ...accessOf(config), askWorker: twice });
  const operator = new Operator(installation, { who: 'anna' }, { bulk: false });
  await operator.overrideBudget(org, { requests: 5, forMs: null });
  await operator.pauseBudget(org, { forMs: 60_000 });
  await operator.pauseBudget(org, null);
  await operator.end();
  await installation.close();
  const actions = async () => {
    const { document } = await docferryJson(['audit', '--config', configFile]);
    return (document.auditEntries as { action: string }[]).map(({ action }) => action).sort();
  };
  await expect.poll(actions).toEqual(['budget-pause', 'budget-resume', 'budget-set']);
});
