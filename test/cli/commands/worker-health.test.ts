import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Connection } from '@temporalio/client';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { startHealthPart } from '../../../src/cli/commands/worker.ts';
import { hostAndPort } from '../../../src/cli/flags.ts';
import { packageVersion } from '../../../src/cli/package-file.ts';
import type { Part } from '../../../src/cli/parts.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import { docferry, folderWithConfig } from '../../tools/cli/run-docferry.ts';
import { DocferryProcess } from '../../tools/docferry-process.ts';
import { type HeldCall, holdingProxy } from '../../tools/proxies/holding-proxy.ts';
import { useDevServer } from '../../tools/temporal/temporal.ts';

let part: Part | undefined;
afterEach(async () => {
  await part?.stop();
  part = undefined;
});

describe('docferry worker --only', () => {
  it('takes one kind of work, and doctor names the queue that lacks a worker', async () => {
    const cwd = await folderWithConfig({ address: useDevServer().address, taskQueue: 'split' });
    const lacking = async () => {
      const { stdout } = await docferry(['doctor', '--json'], { cwd });
      const { checks } = JSON.parse(stdout) as {
        checks: { name: string; level: string; detail: string; fix: string | null }[];
      };
      return checks.find(({ name }) => name === 'worker');
    };
    const ready = async (only: string) => {
      const worker = new DocferryProcess(['worker', '--only', only, '--json'], { cwd });
      await worker.says('"ready"');
      return { worker, taskQueues: JSON.parse(worker.stdout).taskQueues };
    };
    const short = await ready('short');
    expect(short.taskQueues).toEqual(['split']);
    expect(await lacking()).toMatchObject({
      level: 'error',
      detail: 'no worker polls the task queue split-bulk',
      fix: expect.stringContaining('docferry worker --only bulk'),
    });
    const bulk = await ready('bulk');
    expect(bulk.taskQueues).toEqual(['split-bulk', 'split-checks', 'split-urgent']);
    expect(await lacking()).toMatchObject({ level: 'ok' });
    for (const { worker } of [short, bulk]) {
      await worker.kill('SIGTERM');
      expect(worker.child.exitCode).toBe(0);
    }
    expect((await docferry(['worker', '--only', 'long'], { cwd })).exitCode).toBe(2);
  });
});

describe('docferry worker --deployment', () => {
  it('is a build named after its version and workflows, which Temporal knows then', async () => {
    const { address, namespace } = useDevServer();
    const deploymentName = `named-${process.pid}`;
    const cwd = await folderWithConfig({ address, taskQueue: deploymentName });
    const worker = new DocferryProcess(['worker', '--deployment', deploymentName, '--json'], { cwd });
    await worker.says('"ready"');
    const hash = createHash('sha256')
      .update(await readFile('dist/workflow-bundle.js'))
      .digest('hex');
    const buildId = `docferry@${packageVersion()}+${hash.slice(0, 12)}`;
    expect(JSON.parse(worker.stdout).version).toEqual({ deploymentName, buildId });
    const connection = await Connection.connect({ address });
    onTestFinished(() => connection.close());
    const builds = async () => {
      const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
        namespace,
        deploymentName,
      });
      return workerDeploymentInfo?.versionSummaries?.map(({ deploymentVersion }) => deploymentVersion?.buildId);
    };
    await expect.poll(() => builds().catch(String)).toEqual([buildId]);
    await worker.kill('SIGTERM');
  });
});

it("names the namespace that Temporal's own variables choose", async () => {
  const cwd = await folderWithConfig({ address: useDevServer().address, taskQueue: 'chosen' });
  const namespace = `chosen-${process.pid}`;
  const env = { TEMPORAL_NAMESPACE: namespace };
  expect((await docferry(['setup', '--create-namespace'], { cwd, env, ownProcess: true })).exitCode).toBe(0);
  const worker = new DocferryProcess(['worker', '--deployment', 'chosen', '--json'], { cwd, env });
  await worker.says('"ready"');
  await worker.kill('SIGTERM');
  expect(JSON.parse(worker.stdout).namespace).toBe(namespace);
  expect(worker.output).toContain(`set-current-version --namespace ${namespace} `);
});

describe('docferry worker --health', () => {
  it('answers as long as the worker takes work, and the worker ends cleanly', async () => {
    const cwd = await folderWithConfig({ address: useDevServer().address, taskQueue: 'health' });
    const address = `127.0.0.1:${await findFreePort()}`;
    const worker = new DocferryProcess(['worker', '--health', address], { cwd });
    await worker.says('worker: ready');
    const answer = await fetch(`http://${address}/healthz`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ state: 'RUNNING' });
    await worker.kill('SIGTERM');
    expect(worker.child.exitCode).toBe(0);
    await expect(fetch(`http://${address}/healthz`)).rejects.toThrow();
  });

  it('answers 503 while the worker begins and while it ends', async () => {
    const waiting: HeldCall[] = [];
    let holds = true;
    const temporal = await holdingProxy(useDevServer().address, (_method, _headers, call) => {
      if (holds) waiting.push(call);
      return holds;
    });
    onTestFinished(() => temporal.stop());
    const answers = () => {
      holds = false;
      for (const call of waiting.splice(0)) call.pass();
    };
    const cwd = await folderWithConfig({ address: temporal.address, taskQueue: 'health-all-along' });
    const address = `127.0.0.1:${await findFreePort()}`;
    const status = () => fetch(`http://${address}/healthz`).then((answer) => answer.status);
    const worker = new DocferryProcess(['worker', '--health', address], { cwd });
    onTestFinished(() => worker.kill('SIGKILL'));
    await expect.poll(() => status().catch(String)).toBe(503);
    answers();
    await worker.says('worker: ready');
    expect(await status()).toBe(200);
    holds = true;
    worker.child.kill('SIGTERM');
    await expect.poll(status).toBe(503);
    answers();
    expect(await worker.ended()).toBe(0);
    await expect(status()).rejects.toThrow();
  });

  it('answers 503 with the state of a worker that takes none', async () => {
    let state = 'RUNNING';
    const port = await findFreePort();
    part = await startHealthPart({ host: '127.0.0.1', port }, () => state);
    const ask = () => fetch(`http://127.0.0.1:${port}/healthz`);
    expect((await ask()).status).toBe(200);
    state = 'DRAINING';
    const answer = await ask();
    expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 503, body: { state: 'DRAINING' } });
    expect((await fetch(`http://127.0.0.1:${port}/other`)).status).toBe(404);
  });

  it('requires host:port', async () => {
    const healthAddress = hostAndPort('--health');
    expect(healthAddress('0.0.0.0:8091')).toEqual({ host: '0.0.0.0', port: 8091 });
    expect(healthAddress('[::1]:8091')).toEqual({ host: '::1', port: 8091 });
    for (const place of ['8091', 'localhost', 'localhost:0', 'localhost:x', '::1:8091']) {
      expect(() => healthAddress(place)).toThrow('--health');
    }
    const cwd = await folderWithConfig();
    expect((await docferry(['worker', '--health', '8091'], { cwd })).exitCode).toBe(2);
  });
});
