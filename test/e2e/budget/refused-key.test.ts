import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { exportHandle, exportState, startExport } from '../../../src/operations/exports.ts';
import { startSync, syncHandle, syncState } from '../../../src/operations/syncs.ts';
import { docferry, docferryJson } from '../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const sync = () => ({ org: scene.org, project: scene.project, pass: 'sweep' as const });
const analytics = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics').length;
const cli = () => ['--config', scene.configFile];

/** A sync and an export that have found the key refused. */
async function bothRefused(): Promise<void> {
  scene = await setScene({ sandbox: { entries: 300, jobSeconds: 0, faults: { unauthorized: true } } });
  await scene.startWorker();
  const { client, taskQueue, org, domain } = scene;
  await startSync(client, taskQueue, { ...sync() });
  await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
  await expect.poll(() => syncState(client, sync())).toMatchObject({ phase: 'unauthorized' });
  await expect
    .poll(() => exportState(client, org, domain))
    .toMatchObject({ unauthorized: { since: expect.any(Number) } });
}

/** Workflows that a person finds by their phase. */
async function foundByPhase(): Promise<string[]> {
  const query = `DocferryOrg = "${scene.org}" AND DocferryPhase = "unauthorized" AND ExecutionStatus = "Running"`;
  const found: string[] = [];
  for await (const { workflowId } of scene.client.workflow.list({ query })) found.push(workflowId);
  return found.sort();
}

describe('a refused key (401)', () => {
  it('is tried again at once when a person starts the export that waits for it', async () => {
    await bothRefused();
    const { org, domain, client } = scene;
    scene.sandbox.setFaults({ unauthorized: false });
    expect(await docferryJson(['export', 'start', domain, ...cli()])).toMatchObject({ document: { joined: true } });
    const status = async () => (await exportHandle(client, org, domain).describe()).status.name;
    await expect.poll(status).toBe('COMPLETED');
  });

  it('stops the runs of the organization in one clear state, and lets them go on when it works', async () => {
    await bothRefused();
    const { org, project, domain } = scene;
    await expect.poll(foundByPhase).toEqual([`export:${org}:${domain}`, `sync:${org}:${project}:sweep`]);
    expect(analytics()).toBe(1);
    const shown = await docferryJson(['budget', 'show', ...cli()]);
    expect(shown.document).toMatchObject({ pausedBy: 'unauthorized', available: 0 });

    // Somebody who waits is told at once, after the key was tried again.
    const told = await docferryJson(['feedback', 'sync', project, '--pass', 'sweep', '--wait', ...cli()]);
    expect(told).toMatchObject({ exitCode: 1, document: { error: { code: 'Unauthorized' } } });
    expect(analytics()).toBe(2);
    const exportTold = await docferryJson(['export', 'start', domain, '--wait', ...cli()]);
    expect(exportTold).toMatchObject({ exitCode: 1, document: { error: { code: 'Unauthorized' } } });

    scene.sandbox.setFaults({ unauthorized: false });
    const synced = await docferryJson(['feedback', 'sync', project, '--pass', 'sweep', '--wait', ...cli()]);
    expect(synced).toMatchObject({ exitCode: 0, document: { entries: { seen: 300 }, pages: 3 } });
    const exported = await docferry(['export', 'start', domain, '--wait', ...cli()]);
    expect(exported.exitCode).toBe(0);
  });

  it('is tried by syncs and exports when a person asks for it with `doctor --key`', async () => {
    await bothRefused();
    const { client, org, domain } = scene;
    // Refused a second time, the export would wait for two minutes.
    await docferry(['export', 'start', domain, '--wait', ...cli()]);
    const { unauthorized } = await exportState(client, org, domain);
    scene.sandbox.setFaults({ unauthorized: false });
    await docferry(['doctor', '--key', ...cli()]);
    expect((await syncHandle(client, sync()).result()).entries.seen).toBe(300);
    expect(await exportHandle(client, org, domain).result()).toMatchObject({ outcome: 'published', jobsStarted: 1 });
    expect(Date.now()).toBeLessThan(unauthorized?.nextTryAt ?? 0);
  });

  it('is tried by the exports of an organization without projects, once its file is corrected', async () => {
    scene = await setScene({
      sandbox: {
        jobSeconds: 0,
        organizations: [
          { id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example'] },
          { id: 'globex', domains: ['docs.globex.example'] },
        ],
      },
      files: { 'globex.key': 'dk_admin_of_somebody_else\n' },
      organizations: (org) => `  - id: ${org}-globex
    apiKeyFile: ./globex.key
    sites: [{ domain: docs.globex.example }]`,
    });
    await scene.startWorker();
    const { client, taskQueue, folder } = scene;
    const [org, domain] = [`${scene.org}-globex`, 'docs.globex.example'];
    await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const refused = { unauthorized: { since: expect.any(Number) } };
    await expect.poll(() => exportState(client, org, domain)).toMatchObject(refused);

    await writeFile(join(folder, 'globex.key'), 'dk_admin_sandbox_globex_planted_key\n');
    const { stdout } = await docferry(['doctor', '--key', '--all', ...cli()]);
    expect(stdout).toMatch(/no project to read; exports that wait for a key try it again now/);
    expect(await exportHandle(client, org, domain).result()).toMatchObject({ outcome: 'published', jobsStarted: 1 });
  });

  it('is tried at once by a worker that starts, since it may hold another key', async () => {
    await bothRefused();
    const { client, org, domain } = scene;
    scene.sandbox.setFaults({ unauthorized: false });
    await scene.startWorker();
    expect((await syncHandle(client, sync()).result()).entries.seen).toBe(300);
    expect(await exportHandle(client, org, domain).result()).toMatchObject({ outcome: 'published', jobsStarted: 1 });
  });
});
