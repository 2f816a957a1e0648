import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { exportHandle, startExport } from '../src/operations/exports.ts';
import { exportWorkflowId, watchWorkflowId } from '../src/rules/workflow-ids.ts';
import { replayNamespace } from '../src/temporal/replay.ts';
import { docferry, docferryJson } from './tools/cli/run-docferry.ts';
import { type Scene, setScene } from './tools/scene.ts';
import { devServerEnvironment, workflowBundle } from './tools/temporal/temporal.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const minute = 60_000;

/** A build whose exports begin with another step: the compiled workflows, with one word changed. */
async function otherBuild(): Promise<{ codePath: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'docferry-build-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const code = await readFile(workflowBundle().codePath, 'utf8');
  const codePath = join(folder, 'workflow-bundle.js');
  const changed = code.replaceAll('planExport', 'planTheExport');
  expect(changed).not.toBe(code);
  await writeFile(codePath, changed);
  return { codePath };
}

describe('the histories of a namespace', () => {
  it('replay with the build that made them; another build is told of those it would stop', {
    timeout: 120_000,
  }, async () => {
    scene = await setScene({ sandbox: { entries: 100, jobSeconds: 1, pages: 3, faults: { stuckJobs: 1 } } });
    await scene.startWorker();
    const { client, taskQueue, org, domain } = scene;
    const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
    await expect
      .poll(async () => (await handle.query<{ phase: string }>('state')).phase, { timeout: minute })
      .toBe('rendering');
    // Of the watch nothing is said: it may look a little later.
    const own = (workflowId: string) => workflowId.includes(org) && !workflowId.startsWith(watchWorkflowId(org));
    const options = { since: Date.now() - minute, matches: own, workflowBundle: workflowBundle() };
    await expect.poll(async () => (await replayNamespace(client, options)).length, { timeout: minute }).toBe(2);
    const same = await replayNamespace(client, options);
    expect(
      same.map(({ type, running, problem }) => ({ type, running, problem })).sort((a, b) => (a.type < b.type ? -1 : 1)),
    ).toEqual([
      { type: 'exportSite', running: true, problem: null },
      { type: 'rateBudget', running: true, problem: null },
    ]);

    const other = await replayNamespace(client, { ...options, workflowBundle: await otherBuild() });
    expect(other.filter(({ problem }) => problem !== null)).toMatchObject([
      {
        type: 'exportSite',
        workflowId: exportWorkflowId(org, domain),
        running: true,
        problem: expect.stringContaining('planTheExport'),
      },
    ]);
    await handle.terminate();
    await expect
      .poll(async () => (await replayNamespace(client, options)).find(({ type }) => type === 'exportSite')?.running, {
        timeout: minute,
      })
      .toBe(false);
    const later = { ...options, since: Date.now() + minute };
    expect((await replayNamespace(client, later)).map(({ type }) => type)).toEqual(['rateBudget']);
  });

  it('are replayed by a command, which names what another build has left behind', async () => {
    scene = await setScene({ sandbox: { jobSeconds: 1, pages: 3 } });
    const { client, taskQueue, org, domain, configFile } = scene;
    // What a worker of another build has begun.
    const env = await devServerEnvironment();
    onTestFinished(() => env.teardown());
    const worker = await Worker.create({
      connection: env.nativeConnection,
      taskQueue,
      workflowBundle: await otherBuild(),
      activities: {
        async planTheExport() {
          throw new Error('not yet');
        },
      },
    });
    await worker.runUntil(async () => {
      await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
      const scheduled = async () => (await exportHandle(client, org, domain).describe()).raw.pendingActivities?.length;
      await expect.poll(scheduled, { timeout: minute }).toBe(1);
    });
    const id = exportWorkflowId(org, domain);
    const found = await docferryJson(['replay', '--since', '5m', '--config', configFile], { ownProcess: true });
    expect(found).toMatchObject({
      exitCode: 1,
      document: {
        ok: false,
        failures: expect.arrayContaining([
          expect.objectContaining({
            workflowId: id,
            type: 'exportSite',
            running: true,
            problem: expect.stringContaining('planTheExport'),
          }),
        ]),
      },
    });
    const args = ['replay', '--since', '5m', '--match', `*:${org}:*`, '--config', configFile];
    const said = await docferry(args, { ownProcess: true });
    expect(said.exitCode).toBe(1);
    expect(said.stdout).toMatch(/exportSite +1 +1 +1 does not replay/);
    expect(said.stdout).toContain(id);
    expect(said.stdout).toContain('Do not deploy it');
    expect(said.stderr).toBe('');
    args[4] = 'sync:*:nobody';
    expect(await docferry(args, { ownProcess: true })).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('no workflow'),
    });
    await exportHandle(client, org, domain).terminate();
  });
});
