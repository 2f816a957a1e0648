import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { publishSite } from '../../tools/bundle/published-version.ts';
import { docferry, docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';
import { devServerEnvironment, forThisFile, useDevServer } from '../../tools/temporal/temporal.ts';

/** Each test has its own organization on the shared server. */
async function place(): Promise<{ org: string; domain: string; cwd: string }> {
  const org = `org-${randomUUID().slice(0, 8)}`;
  const domain = `docs.${org}.example`;
  const organizations = `  - id: ${org}
    apiKey: dk_admin_${org}
    budget: { requests: 40, window: 30m, reserve: 4 }
    projects: [{ id: prj_1 }]
    sites: [{ domain: ${domain} }]
`;
  started.push(`export:${org}:${domain}`, `sync:${org}:prj_1:sweep`);
  const cwd = await folderWithConfig({ address: useDevServer().address, taskQueue: org, organizations });
  return { org, domain, cwd };
}

const environment = await forThisFile(devServerEnvironment());
const started: string[] = [];
afterEach(async () => {
  for (const id of started.splice(0))
    await environment.client.workflow
      .getHandle(id)
      .terminate()
      .catch(() => {});
});

describe('on a Temporal without a worker', () => {
  it('export start says what it started; status, a second start and cancel find it', async () => {
    const { org, domain, cwd } = await place();
    const workflowId = `export:${org}:${domain}`;
    const first = await docferryJson(['export', 'start', domain], { cwd });
    expect(first).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('`docferry audit` will not show it') });
    expect(first.document).toEqual({ workflowId, runId: expect.any(String), org, domain, joined: false });

    const refused = await docferryJson(['export', 'start', domain, '--on-running', 'refuse'], { cwd });
    expect(refused.exitCode).toBe(1);
    expect(refused.document).toHaveProperty('error.code', 'ExportRunning');

    const version = '20261120T101500Z-0123456789ab';
    await publishSite({ root: join(cwd, 'data/bundles'), domain, version });
    // Each waits for a worker as long as its maxWait.
    const [joining, rollback, status] = await Promise.all([
      docferryJson(['export', 'start', domain], { cwd }),
      docferryJson(['export', 'rollback', domain, version], { cwd }),
      docferryJson(['export', 'status', domain], { cwd }),
    ]);
    expect(joining).toMatchObject({ exitCode: 1, document: { error: { code: 'NoWorker' } } });
    expect(rollback).toMatchObject({ exitCode: 1, document: { error: { code: 'NoWorker' } } });
    expect(status.document).toMatchObject({
      org,
      domain,
      workflowId,
      status: 'RUNNING',
      state: null,
      runs: [],
      runsUnread: null,
    });
    expect(status.stderr).toContain('no worker answers');

    const cancel = await docferryJson(['export', 'cancel', domain], { cwd });
    expect(cancel.document).toMatchObject({ workflowId, cancelRequested: true });
  });

  it('export status shows what is running even when the bundle store is unavailable', async () => {
    const { domain, cwd } = await place();
    await mkdir(join(cwd, 'data'), { recursive: true });
    await writeFile(join(cwd, 'data/bundles'), 'no folder');
    const status = await docferryJson(['export', 'status', domain], { cwd });
    expect(status).toMatchObject({ exitCode: 0, document: { domain, status: null, hold: null } });
    expect(status.stderr).toContain(`whether ${domain} is held, and what its targets run, is unknown`);
  });

  it('export status shows what Temporal and the bundle store know when the run records cannot be read', async () => {
    const { domain, cwd } = await place();
    await docferry(['export', 'start', domain], { cwd });
    await publishSite({ root: join(cwd, 'data/bundles'), domain, version: '20261120T101500Z-0123456789ab' });
    await rm(join(cwd, 'data/feedback.db'), { force: true });
    await mkdir(join(cwd, 'data/feedback.db'));
    const status = await docferryJson(['export', 'status', domain], { cwd });
    expect(status).toMatchObject({
      exitCode: 0,
      document: { domain, status: 'RUNNING', hold: null, runs: [], runsUnread: expect.stringContaining('feedback.db') },
    });
    const lines = status.stderr.split('\n').filter((line) => line.includes('records of earlier runs'));
    expect(lines).toEqual([expect.stringContaining('feedback.db')]);
    const { stdout } = await docferry(['export', 'status', domain], { cwd });
    expect(stdout).toContain('latest run: running');
    expect(stdout).not.toContain('has ended yet');
  });

  it('--wait warns that no worker polls, and ends with 5 after --timeout', async () => {
    const { domain, cwd } = await place();
    const waited = await docferryJson(['export', 'start', domain, '--wait', '--timeout', '2s'], { cwd });
    expect(waited.exitCode).toBe(5);
    expect(waited.document).toHaveProperty('error.code', 'StillRunning');
    expect(waited.document).toHaveProperty('error.hint', expect.stringContaining(`docferry export watch ${domain}`));
    expect(waited.stderr).toContain('no worker polls the task queue');
  });

  it('Ctrl-C before the waiting has begun detaches too', async () => {
    const { cwd } = await place();
    await docferry(['feedback', 'sync', 'prj_1'], { cwd });
    let interrupted = false;
    const waited = await docferryJson(['feedback', 'sync', 'prj_1', '--wait'], {
      cwd,
      onOutput: (child, said) => {
        if (interrupted || !said.includes('joined the sweep')) return;
        interrupted = child.kill('SIGINT');
      },
    });
    expect(waited).toMatchObject({ exitCode: 5, document: { error: { code: 'Detached' } } });
  });

  it('Ctrl-C under --wait detaches and says how to follow and to cancel', async () => {
    const { org, cwd } = await place();
    let interrupted = false;
    const waited = await docferryJson(['feedback', 'sync', 'prj_1', '--wait'], {
      cwd,
      onOutput: (child, said) => {
        if (interrupted || !said.includes('no worker polls')) return;
        interrupted = child.kill('SIGINT');
      },
    });
    expect(waited.exitCode).toBe(5);
    expect(waited.document).toHaveProperty('error.code', 'Detached');
    expect(waited.document).toHaveProperty('error.hint', expect.stringContaining('feedback status prj_1'));
    expect(waited.document).toHaveProperty('error.hint', expect.stringContaining('feedback cancel prj_1 --pass sweep'));
    const { status } = await environment.client.workflow.getHandle(`sync:${org}:prj_1:sweep`).describe();
    expect(status.name).toBe('RUNNING');
  });

  it('feedback sync sweeps a project that was never swept, and joins a running sweep', async () => {
    const { org, cwd } = await place();
    const workflowId = `sync:${org}:prj_1:sweep`;
    const first = await docferryJson(['feedback', 'sync', 'prj_1'], { cwd });
    expect(first.document).toMatchObject({ workflowId, org, project: 'prj_1', pass: 'sweep', joined: false });
    const second = await docferryJson(['feedback', 'sync', `${org}/prj_1`], { cwd });
    expect(second.document).toMatchObject({ workflowId, joined: true });
    const status = await docferryJson(['feedback', 'status'], { cwd });
    expect(status.document).toMatchObject({
      projects: [{ org, entries: 0, running: [{ workflowId, pass: 'sweep' }] }],
    });
  });

  it('budget show gives the configured window as all free before the first request', async () => {
    const { org, cwd } = await place();
    const { exitCode, document } = await docferryJson(['budget', 'show'], { cwd });
    expect(exitCode).toBe(0);
    expect(document).toEqual({
      org,
      limit: 40,
      reserve: 4,
      windowMs: 1_800_000,
      used: 0,
      available: 36,
      pausedUntil: null,
      pausedBy: null,
      override: null,
      nextFreeAt: null,
      countsAsFullUntil: null,
      otherClients: null,
      holders: [],
      waiters: [],
      programs: [],
      throttledInWindow: 0,
      configured: { requests: 40, reserve: 4, windowMs: 1_800_000, arrivalMs: 30_000 },
      differs: false,
    });
  });

  it('cancelling or polling what is not running is exit code 4', async () => {
    const { domain, cwd } = await place();
    for (const args of [
      ['export', 'cancel', domain],
      ['export', 'poll-now', domain],
      ['feedback', 'cancel', 'prj_1', '--pass', 'sweep'],
    ]) {
      expect((await docferry(args, { cwd })).exitCode).toBe(4);
    }
  });
});
