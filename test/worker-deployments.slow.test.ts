import type { WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { exportHandle, exportState, startExport } from '../src/operations/exports.ts';
import { startSync } from '../src/operations/syncs.ts';
import { budgetWorkflowId } from '../src/rules/workflow-ids.ts';
import { createLog } from '../src/temporal/log.ts';
import { serverVersion } from '../src/temporal/namespace.ts';
import { type RunningWorker, startWorker } from '../src/worker.ts';
import { docferryJson } from './tools/cli/run-docferry.ts';
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

async function startBuild(buildId: string): Promise<RunningWorker> {
  const version = { deploymentName, buildId };
  const worker = await startWorker(scene.config, { log, workflowBundle: workflowBundle(), version });
  workers.push(worker);
  return worker;
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

/** Servers before 1.32 do not tell a pinned run that another build became current: it stays until it ends. */
async function skipUnlessToldOfBuilds(skip: (reason: string) => void): Promise<void> {
  const version = await serverVersion(scene.client);
  if (Number(version.split('.')[1]) < 32) skip(`Temporal ${version} tells no run of another build`);
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
      // The next look for another build is then far away.
      approvalTimeout: '7d',
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

  it('an export that waits for approval moves to the new build, with everything it waits for', {
    timeout: 1_200_000,
  }, async ({ skip }) => {
    scene = await setScene({ sandbox: { jobSeconds: 0.2, pages: 5 }, approvalTimeout: '20m' });
    const { client, taskQueue, org, domain } = scene;
    await skipUnlessToldOfBuilds(skip);
    const one = await startBuild('one');
    await makeCurrent('one');
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
    const state = () => exportState(client, org, domain);
    await expect.poll(state, within).toMatchObject({ phase: 'awaiting-approval' });
    const before = await state();
    const { version } = before.approval ?? {};
    const latest = exportHandle(client, org, domain);
    const { runId: first } = await latest.describe();

    await startBuild('two');
    await makeCurrent('two');
    await expect.poll(async () => (await latest.describe()).runId, within).not.toBe(first);
    expect(await state()).toEqual(before);
    expect((await latest.describe()).searchAttributes).toMatchObject({ DocferryPhase: ['awaiting-approval'] });
    // What Temporal counts before it calls the old build drained.
    const held = `TemporalWorkerDeploymentVersion = "${deploymentName}:one" AND ExecutionStatus = "Running" AND TemporalWorkflowVersioningBehavior = "Pinned"`;
    await expect.poll(async () => (await client.workflow.count(held)).count, within).toBe(0);
    await one.stop();

    await latest.executeUpdate('approve', { args: [{ version }] });
    expect(await handle.result()).toMatchObject({ outcome: 'published', version });
    expect(await buildsOf(client.workflow.getHandle(handle.workflowId, first))).toEqual(['one']);
    expect(await buildsOf(latest)).toEqual(['two']);
    const { document } = await docferryJson(['audit', '--config', scene.configFile]);
    expect(document).toMatchObject({ auditEntries: [{ action: 'approve', subject: domain }] });
    const history = (await docferryJson(['export', 'history', domain, '--config', scene.configFile])).document;
    expect(history).toMatchObject({ runs: [{ outcome: 'published', version, jobsStarted: 1 }] });
    const steps: (string | null | undefined)[][] = [];
    for (const runId of [first, (await latest.describe()).runId]) {
      const found = await client.workflow.getHandle(handle.workflowId, runId).fetchHistory();
      const scheduled = (found.events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
      steps.push(scheduled.map(({ activityType }) => activityType?.name));
      await Worker.runReplayHistory({ workflowBundle: workflowBundle() }, found);
    }
    // It sends the notice: once.
    expect(steps.map((names) => names.includes('describeChanges'))).toEqual([true, false]);
  });

  it('a decision that comes while the export moves is not lost', { timeout: 1_200_000 }, async ({ skip }) => {
    scene = await setScene({ sandbox: { jobSeconds: 0.2, pages: 5 }, approvalTimeout: '10m' });
    const { client, taskQueue, org, domain } = scene;
    await skipUnlessToldOfBuilds(skip);
    const one = await startBuild('one');
    await makeCurrent('one');
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
    const state = () => exportState(client, org, domain);
    await expect.poll(state, within).toMatchObject({ phase: 'awaiting-approval' });
    const version = (await state()).approval?.version;
    await one.stop();
    await startBuild('two');
    await makeCurrent('two');
    // The look is due, and the build that makes it is not there.
    const eventsOf = async () => (await handle.fetchHistory()).events ?? [];
    const isDue = async () => (await eventsOf()).at(-1)?.workflowTaskScheduledEventAttributes != null;
    await expect.poll(isDue, within).toBe(true);
    const approved = exportHandle(client, org, domain).executeUpdate('approve', { args: [{ version }] });
    await startBuild('one');
    expect(await approved).toEqual({ version });
    expect(await handle.result()).toMatchObject({ outcome: 'published', version });
  });

  it('an export whose key is refused moves with the next try, and starts one job', { timeout: 1_200_000 }, async ({
    skip,
  }) => {
    scene = await setScene({ sandbox: { jobSeconds: 0.2, pages: 5, faults: { unauthorized: true } } });
    const { client, taskQueue, org, domain, sandbox } = scene;
    await skipUnlessToldOfBuilds(skip);
    await startBuild('one');
    await makeCurrent('one');
    const { handle, runId: first } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
    const refusedSince = async () => (await exportState(client, org, domain)).unauthorized?.since;
    await expect.poll(refusedSince, within).toBeDefined();
    const since = await refusedSince();

    await startBuild('two');
    await makeCurrent('two');
    const latest = exportHandle(client, org, domain);
    const tried = async () => {
      await latest.signal('retryKey');
      return (await latest.describe()).runId;
    };
    await expect.poll(tried, within).not.toBe(first);
    await expect.poll(refusedSince, within).toBe(since);
    sandbox.setFaults({ unauthorized: false });
    await latest.signal('retryKey');
    expect(await handle.result()).toMatchObject({ outcome: 'published', jobsStarted: 1 });
    expect(await buildsOf(latest)).toEqual(['two']);
  });
});
