import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { exportState, startExport } from '../../src/operations/exports.ts';
import { publishSite, smallSiteVersion } from '../tools/bundle/published-version.ts';
import { docferryJson } from '../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const json = (...args: string[]) => docferryJson([...args, '--config', scene.configFile]);

interface Kept {
  action: string;
  who: string;
  org: string | null;
  subject: string | null;
  reason: string | null;
  detail: Record<string, unknown>;
}

/** Newest first. */
async function kept(...flags: string[]): Promise<Kept[]> {
  const { exitCode, document } = await json('audit', ...flags);
  expect(exitCode).toBe(0);
  return (document as { auditEntries: Kept[] }).auditEntries;
}

async function startAndAwait(): Promise<string> {
  const { client, taskQueue, org, domain } = scene;
  await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
  const state = () => exportState(client, org, domain);
  await expect.poll(state, { interval: 500 }).toMatchObject({ phase: 'awaiting-approval' });
  return `${(await state()).approval?.version}`;
}

describe('the audit, by the command line (X6)', () => {
  it('tells who did what to a site, a budget and a person, and history how runs ended', {
    timeout: 300_000,
  }, async () => {
    scene = await setScene({ sandbox: { jobSeconds: 0.2, pages: 5, entries: 5 }, approvalTimeout: '1h' });
    await scene.startWorker();
    const { client, domain, org, project, sandbox } = scene;

    const first = await startAndAwait();
    await json('export', 'approve', domain, first, '--as', 'anna', '--reason', 'as agreed');
    // Its last phase is shown before its run is over.
    await client.workflow.getHandle(`export:${org}:${domain}`).result();

    // Another program than docferry rejects, as the Temporal UI would.
    sandbox.publishRevision(domain);
    const second = await startAndAwait();
    const handle = client.workflow.getHandle(`export:${org}:${domain}`);
    await handle.executeUpdate('reject', { args: [{ version: second, reason: 'prices' }], updateId: 'by-hand' });
    await handle.result();
    const { runId } = await handle.describe();

    const earlier = smallSiteVersion;
    await publishSite({ root: join(scene.folder, 'data/bundles'), domain, version: earlier });
    await json('export', 'rollback', domain, earlier, '--as', 'bert', '--reason', 'broken search', '--wait');
    await json('export', 'release', domain, '--as', 'bert');
    await json('export', 'hold', '--match', 'docs*', '--yes', '--reason', 'sale');
    await json('export', 'start', '--all', '--yes', '--as', 'dora');
    await json('budget', 'set', org, '--requests', '7', '--as', 'carl');
    await json('feedback', 'erase', project, '--contact', 'jane@mail.example', '--yes', '--as', 'carl');

    const [approved, version] = [{ version: first }, { version: earlier }];
    await expect.poll(async () => (await kept()).length).toBe(8);
    expect((await kept()).reverse()).toMatchObject([
      { action: 'approve', who: 'anna', org, subject: domain, reason: 'as agreed', detail: approved },
      {
        action: 'reject',
        who: 'Temporal UI or other client',
        reason: 'prices',
        entryId: `${runId}/by-hand`,
        detail: { version: second },
      },
      { action: 'rollback', who: 'bert', subject: domain, reason: 'broken search', detail: version },
      { action: 'release', who: 'bert', subject: domain, detail: version },
      { action: 'hold', who: expect.stringMatching(/^.+@.+$/), reason: 'sale', detail: { bulk: true, ...version } },
      { action: 'start-export', who: 'dora', subject: domain, detail: { bulk: true } },
      { action: 'budget-set', who: 'carl', org, subject: null, detail: { requests: 7 } },
      { action: 'erase', who: 'carl', org, subject: project, detail: { entries: 0 } },
    ]);
    expect(JSON.stringify(await kept())).not.toContain('jane');
    expect((await kept('--match', `${org}/docs*`)).map(({ action }) => action)).toHaveLength(6);
    expect((await kept('--match', project)).map(({ action }) => action)).toEqual(['erase']);
    expect(await kept('--since', '1ms')).toEqual([]);
    expect(await json('audit', '--limit', '1')).toMatchObject({
      document: { auditEntries: [{ action: 'erase' }], more: true },
    });

    expect(await json('export', 'history', domain, '--outcome', 'rejected')).toMatchObject({
      exitCode: 0,
      document: {
        domain,
        more: false,
        runs: [{ outcome: 'rejected', durationMs: expect.any(Number), reason: 'prices' }],
      },
    });
    expect(await json('export', 'history', domain, '--limit', '1', '--since', '1h')).toMatchObject({
      document: { more: true },
    });
    await json('budget', 'reset', org);
    await json('feedback', 'sync', project, '--wait');
    expect(await json('feedback', 'history', project, '--outcome', 'completed')).toMatchObject({
      exitCode: 0,
      document: {
        project,
        passes: [{ outcome: 'completed', durationMs: expect.any(Number), error: null }],
        more: false,
      },
    });
    expect(await json('feedback', 'history', project, '--outcome', 'failed')).toMatchObject({
      document: { passes: [] },
    });
  });
});
