import type { WorkflowHandle } from '@temporalio/client';
import { afterEach, describe, expect, it } from 'vitest';
import { exportHandle, exportState } from '../src/operations/exports.ts';
import { startExport } from '../src/operations/operator.ts';
import { startSync } from '../src/operations/syncs.ts';
import { budgetWorkflowId } from '../src/rules/workflow-ids.ts';
import { createLog } from '../src/temporal/log.ts';
import { type RunningWorker, startWorker } from '../src/worker.ts';
import { type Scene, setScene } from './tools/scene.ts';
import { workflowBundle } from './tools/temporal/temporal.ts';

let scene: Scene;
const workers: RunningWorker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  await scene?.end();
});

const log = createLog({ write: () => true }, 'error');
const within = { interval: 250 };
const deploymentName = `docferry-${process.pid}`;

async function startBuild(buildId: string): Promise<void> {
  const version = { deploymentName, buildId };
  workers.push(await startWorker(scene.config, { log, workflowBundle: workflowBundle(), version }));
}

/** As `temporal worker deployment set-current-version`, once the server knows the build. */
async function makeCurrent(buildId: string): Promise<void> {
  const { client } = scene;
  const { namespace } = client.options;
  const set = () =>
    client.workflowService
      .setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId, identity: 'test' })
      .then(() => true)
      .catch((error: Error) => error.message);
  await expect.poll(set, within).toBe(true);
}

/** The builds whose workers answered workflow tasks of the run, in order. */
async function buildsOf(handle: WorkflowHandle): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  const builds = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: task }) => {
    const build = task?.deploymentVersion?.buildId ?? task?.workerDeploymentVersion?.split(/[.:]/).at(-1);
    return task ? [build || 'none'] : [];
  });
  return builds.filter((build, index) => build !== builds[index - 1]);
}

describe('two builds of a Worker Deployment', () => {
  it('an export stays with the build that began it; the budget and new starts move on', {
    timeout: 240_000,
  }, async () => {
    scene = await setScene({
      sandbox: {
        entries: 300,
        jobSeconds: 1,
        pages: 3,
      },
      approvalTimeout: '1h',
    });
    const { client, taskQueue, org, domain, project } = scene;
    await startBuild('one');
    await makeCurrent('one');
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
    const phase = async () => (await exportState(client, org, domain)).phase;
    await expect.poll(phase, within).toBe('awaiting-approval');
    const budget = client.workflow.getHandle(budgetWorkflowId(org));
    expect(await buildsOf(budget)).toEqual(['one']);

    await startBuild('two');
    await makeCurrent('two');
    const sync = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
    expect(await sync.result()).toMatchObject({ entries: { seen: 300 } });
    expect(await buildsOf(sync)).toEqual(['two']);
    expect(await buildsOf(budget)).toEqual(['one', 'two']);

    // Decided now, with steps still to be made, which the first build makes.
    const version = (await exportState(client, org, domain)).approval?.version;
    await handle.executeUpdate('approve', { args: [{ version }] });
    expect(await handle.result()).toMatchObject({ outcome: 'published' });
    expect(await buildsOf(handle)).toEqual(['one']);
    const next = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
    expect(await next.handle.result()).toMatchObject({ outcome: 'unchanged' });
    expect(await buildsOf(exportHandle(client, org, domain))).toEqual(['two']);
  });
});
