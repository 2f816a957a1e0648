import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applySchedules } from '../../../src/schedules/schedules.ts';
import { docferry, docferryJson } from '../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await setScene({
    approvalTimeout: '1h',
    schedule: '{ every: 7d }',
    organizations: (org) => `  - id: ${org}-b\n    apiKey: dk_b\n    sites: [{ domain: docs2.acme.example }]`,
  });
});
afterEach(async () => {
  await applySchedules(scene.client, scene.taskQueue, [], 'fast');
  await scene.end();
});

describe('docferry status', () => {
  it('shows every site and project, what waits for approval, and approves in bulk what the plan showed', async () => {
    const { org, domain, project, folder: cwd, config, client, taskQueue } = scene;
    await applySchedules(client, taskQueue, config.organizations, 'fast');
    const idle = await docferryJson(['status'], { cwd });
    expect(idle).toMatchObject({ exitCode: 0, document: { unavailable: [] } });
    expect(idle.document.sites).toMatchObject([
      { org, domain, state: 'idle', lastOutcome: null, lastAt: null, current: null, held: null, failingSince: null },
      { org: `${org}-b`, domain: 'docs2.acme.example', nextAt: null },
    ]);
    expect(idle.document.projects).toMatchObject([{ org, project, state: 'idle', lastPass: null, verifiedUpTo: null }]);

    await scene.startWorker();
    expect((await docferryJson(['export', 'start', '--match', 'docs.*', '--yes'], { cwd })).document).toMatchObject({
      sites: [{ org, domain, ok: true, joined: false }],
      totals: { done: 1, failed: 0, left: 0 },
    });
    const states = async (...flags: string[]) => {
      const { document } = await docferryJson(['status', ...flags], { cwd });
      return (document.sites as { state: string }[]).map(({ state }) => state);
    };
    await expect.poll(() => states(), { interval: 500 }).toEqual(['awaiting-approval', 'idle']);
    expect(await states('--since', '1h')).toEqual(['awaiting-approval']);
    expect(await docferryJson(['status', '--check'], { cwd })).toMatchObject({ exitCode: 1 });
    const failed = await docferryJson(['status', '--check', '--failed'], { cwd });
    expect(failed).toMatchObject({ exitCode: 1, document: { sites: [] } });

    const unasked = await docferry(['export', 'approve', '--all'], { cwd });
    expect(unasked).toMatchObject({ exitCode: 2, stdout: '' });
    const approved = await docferryJson(['export', 'approve', '--all', '--yes'], { cwd });
    expect(approved).toMatchObject({
      exitCode: 0,
      document: { sites: [{ domain, ok: true, decision: 'approved' }], left: [{ domain: 'docs2.acme.example' }] },
    });
    const [{ version }] = approved.document.sites as [{ version: string }];
    expect(approved.stderr).toContain(version);
    const last = async () => (await docferryJson(['status', '--org', org], { cwd })).document.sites;
    await expect
      .poll(last, { interval: 500 })
      .toMatchObject([{ state: 'idle', lastOutcome: 'published', current: version, held: null }]);
    expect(await docferryJson(['status', '--check'], { cwd })).toMatchObject({ exitCode: 0 });

    expect((await docferryJson(['export', 'hold', '--all', '--yes'], { cwd })).document).toMatchObject({
      sites: [{ domain, ok: true, held: version }],
      left: [{ domain: 'docs2.acme.example', why: 'without a published version' }],
    });
    expect(await states()).toEqual(['held', 'idle']);
    expect((await docferryJson(['status', '--failed'], { cwd })).document).toMatchObject({
      sites: [],
      totals: { sites: { all: 2, held: 1, idle: 1, failing: 0 } },
    });
    expect((await docferry(['status', '--watch', '--for', '1ms'], { cwd })).stderr).toContain(`${org}/${domain}: held`);
  });
});
