import { afterEach, expect, it } from 'vitest';
import { startExport } from '../../../../src/operations/exports.ts';
import { docferry, docferryJson } from '../../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../../tools/scene.ts';

let scene: Scene;
afterEach(() => scene?.end());

it('says of a fetch that keeps failing why, and when it is tried again', async () => {
  scene = await setScene({ sandbox: { jobSeconds: 0, pages: 2, faults: { storageErrors: 10_000 } } });
  await scene.startWorker();
  const { client, taskQueue, org, domain, configFile } = scene;
  const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
  const status = ['export', 'status', domain, '--config', configFile];
  const retries = async () => (await docferryJson(status)).document as { retries: unknown[] };
  const nextAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  const failing = {
    activity: 'fetchBundle',
    attempt: expect.any(Number),
    reason: expect.stringMatching(/^DownloadFailed: /),
    nextAt,
    paused: false,
  };
  await expect.poll(retries, { interval: 50 }).toMatchObject({ retries: [failing] });
  const text = async () => (await docferry(status)).stdout;
  await expect
    .poll(text)
    .toMatch(
      /fetchBundle +failed; (it is being tried again now|the next try is at \d\d:\d\d:\d\d UTC) \(attempt \d+\): the download failed/,
    );

  const { namespace } = client.options;
  const execution = { workflowId: handle.workflowId };
  await client.workflowService.pauseActivity({ namespace, execution, type: 'fetchBundle', identity: 'op@host' });
  await expect
    .poll(retries, { interval: 50 })
    .toMatchObject({ retries: [{ activity: 'fetchBundle', nextAt: null, paused: true }] });
  expect(await text()).toMatch(/fetchBundle +is paused by an operator until `temporal activity unpause`: /);
  scene.sandbox.setFaults({ storageErrors: 0 });
  await client.workflowService.unpauseActivity({ namespace, execution, type: 'fetchBundle', identity: 'op@host' });
  expect(await handle.result()).toMatchObject({ outcome: 'published' });
});

it('gives every moment in ISO 8601, that of a refused key too', async () => {
  scene = await setScene({ sandbox: { jobSeconds: 0, pages: 2, faults: { unauthorized: true } } });
  await scene.startWorker();
  const { client, taskQueue, org, domain, configFile } = scene;
  await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
  const status = async () => (await docferryJson(['export', 'status', domain, '--config', configFile])).document;
  const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  const unauthorized = { since: moment, triedAt: moment, nextTryAt: moment };
  const progress = { startedAt: moment, jobStartedAt: null };
  await expect.poll(status, { interval: 50 }).toMatchObject({ state: { unauthorized, progress } });
});
