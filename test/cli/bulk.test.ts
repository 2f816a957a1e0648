import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { exportState, rejectExport, startExport } from '../../src/operations/exports.ts';
import { runningWork } from '../../src/temporal/runs.ts';
import { docferry, docferryJson } from '../tools/cli/run-docferry.ts';
import { hasTerminals, inShell, TerminalSession } from '../tools/cli/terminal-session.ts';
import { type Scene, setScene } from '../tools/scene.ts';

let scene: Scene;
afterEach(() => scene?.end());

const json = (...args: string[]) => docferryJson([...args, '--config', scene.configFile]);
const running = async (workflowId: string) => {
  const found = await scene.client.workflow
    .getHandle(workflowId)
    .describe()
    .catch(() => null);
  return found?.status.name === 'RUNNING';
};

/** Three projects of one organization and one of another; nothing runs what is started. */
async function projectsOfTwo() {
  scene = await setScene({
    projects: ['prj_2', 'api_1'],
    organizations: (org) => `  - { id: ${org}-other, apiKey: k, projects: [{ id: theirs }] }`,
  });
  const { org } = scene;
  const sweep = (project: string, of = org) => `sync:${of}:${project}:sweep`;
  return { org, other: `${org}-other`, sweep };
}

describe('feedback sync and cancel of many', () => {
  it('take those of an organization, those that match, or all, and cancel only what runs', async () => {
    const { org, other, sweep } = await projectsOfTwo();
    const matched = await json('feedback', 'sync', '--match', 'prj_*', '--pass', 'review', '--yes');
    expect(matched).toMatchObject({ exitCode: 0, document: { totals: { done: 2, failed: 0, left: 0 } } });
    expect(matched.document.projects).toMatchObject(
      ['prj_1', 'prj_2'].map((project) => ({ org, project, pass: 'review', ok: true, joined: false })),
    );
    const theirs = await json('feedback', 'sync', '--org', other, '--yes');
    expect(theirs.document.projects).toMatchObject([
      { org: other, project: 'theirs', workflowId: sweep('theirs', other) },
    ]);
    // Temporal lists what runs a moment later.
    await expect.poll(async () => (await runningWork(scene.client, scene.taskQueue)).length).toBe(3);
    const started = await json('feedback', 'sync', '--all', '--yes');
    expect(started.stderr).toContain('start a pass of 4 projects:');
    expect(started.stderr).toMatch(new RegExp(`^ *${other}/theirs  sweep \\(already running\\)$`, 'm'));
    expect(started.stderr).toMatch(new RegExp(`^ *${org}/prj_1  sweep$`, 'm'));
    expect(started.document).toMatchObject({ totals: { done: 4, failed: 0 } });
    expect(started.document.projects).toContainEqual(
      expect.objectContaining({ project: 'theirs', pass: 'sweep', joined: true }),
    );
    expect(await running(sweep('api_1'))).toBe(true);

    const cancel = async () => (await json('feedback', 'cancel', '--org', org, '--pass', 'review', '--yes')).document;
    await expect.poll(cancel).toMatchObject({
      projects: ['prj_1', 'prj_2'].map((project) => ({ project, pass: 'review', cancelRequested: true })),
      totals: { done: 2, failed: 0, left: 0 },
    });
    const cancelRequested = async (workflowId: string) =>
      (await scene.client.workflow.getHandle(workflowId).fetchHistory()).events?.some(
        (event) => event.workflowExecutionCancelRequestedEventAttributes,
      );
    expect(await cancelRequested(`sync:${org}:prj_2:review`)).toBe(true);
    expect(await cancelRequested(sweep('prj_2'))).toBe(false);
    const none = await json('feedback', 'cancel', '--match', 'prj_*', '--pass', 'incremental', '--yes');
    expect(none).toMatchObject({ exitCode: 0, document: { projects: [], totals: { done: 0 } } });
  });

  it.each([
    ['feedback', 'sync'],
    ['export', 'start'],
  ])('%s %s does nothing where nobody can be asked (exit code 2)', async (...command) => {
    const { org, sweep } = await projectsOfTwo();
    const asked = await json(...command, '--all');
    expect(asked).toMatchObject({ exitCode: 2, document: { error: { message: expect.stringContaining('--yes') } } });
    expect(await running(sweep('prj_1'))).toBe(false);
    expect(await running(`export:${org}:docs.acme.example`)).toBe(false);
  });
});

describe('when one of many fails', () => {
  it('the others are done, the summary names it, and the exit code is 1', async () => {
    const [busy, free] = ['docs.acme.example', 'api.acme.example'];
    scene = await setScene({ sites: [free] });
    const { client, taskQueue, org, configFile } = scene;
    await startExport(client, taskQueue, { org, domain: busy, parameters: {} }, 'refuse');
    const refuse = ['export', 'start', '--all', '--on-running', 'refuse', '--yes'];
    const ended = await json(...refuse);
    expect(ended.exitCode).toBe(1);
    expect(ended.document).toMatchObject({ left: [], totals: { done: 1, failed: 1, left: 0 } });
    expect(ended.document.sites).toEqual([
      { org, domain: busy, ok: false, error: expect.objectContaining({ code: 'ExportRunning' }) },
      { org, domain: free, ok: true, workflowId: `export:${org}:${free}`, runId: expect.any(String), joined: false },
    ]);
    expect(await running(`export:${org}:${free}`)).toBe(true);
    await expect.poll(async () => (await runningWork(client, taskQueue)).length).toBe(2);
    const said = await docferry([...refuse, '--config', configFile]);
    expect(said.exitCode).toBe(1);
    expect(said.stderr).toMatch(/^ *docs\.acme\.example \(already running\)$/m);
    expect(said.stdout).toMatch(/^docs\.acme\.example: .*running/m);
    expect(said.stdout).toMatch(/^started 0 of 2 sites: 2 failed$/m);
  });
});

describe('export start --all --wait', () => {
  const [broken, unknown, good] = ['docs.acme.example', 'nobody.acme.example', 'docs2.acme.example'];
  const organizations = (domains: string[]) => [{ id: 'acme', projects: [{ id: 'prj_1' }], domains }];

  it('ends when all have ended: one document with each result, the reasons in the summary, and exit code 1', async () => {
    scene = await setScene({
      sandbox: { jobSeconds: 0.2, pages: 3, organizations: organizations([good, broken]) },
      sites: [unknown, good],
      rollout: '[{ directory: { path: /dev/null/site } }]',
    });
    await scene.startWorker();
    const { org, configFile } = scene;
    const start = ['export', 'start', '--all', '--wait', '--yes'];
    const { exitCode, document, stderr } = await json(...start);
    expect(exitCode).toBe(1);
    expect(document).toMatchObject({ left: [], totals: { done: 1, failed: 2, left: 0, running: 0 } });
    const of = (domain: string) =>
      (document.sites as { domain: string; version?: string }[]).find((site) => site.domain === domain);
    expect(of(good)).toMatchObject({ org, ok: true, joined: false, outcome: 'published', jobsStarted: 1, pages: 4 });
    expect(of(broken)).toMatchObject({ ok: false, outcome: 'rollout-failed', error: { code: 'rollout-failed' } });
    expect(of(unknown)).toMatchObject({
      ok: false,
      workflowId: `export:${org}:${unknown}`,
      error: { code: 'NotFound' },
    });
    expect(stderr).toMatch(new RegExp(`^${good}: rendering`, 'm'));
    expect(stderr).toMatch(new RegExp(`^${good}: published  ${of(good)?.version}$`, 'm'));

    const said = await docferry([...start, '--config', configFile]);
    expect(said.exitCode).toBe(1);
    expect(said.stdout).toMatch(new RegExp(`^${broken}: rollout-failed: directory:/dev/null/site: .+`, 'm'));
    expect(said.stdout.trimEnd().split('\n').at(-1)).toBe('exported 1 of 3 sites: 2 failed');
  });

  it('stops waiting after --timeout with exit code 5, and says how to look at what goes on', async () => {
    scene = await setScene({ sites: [good] });
    const start = ['export', 'start', '--match', 'docs*', '--wait', '--timeout', '1s', '--yes'];
    const { exitCode, document, stderr } = await json(...start);
    expect([exitCode, document.totals]).toEqual([5, { done: 0, failed: 0, left: 0, running: 2 }]);
    expect(document.sites).toMatchObject([
      { domain: broken, ok: false, error: { code: 'StillRunning', hint: expect.stringContaining('export watch') } },
      { domain: good, ok: false },
    ]);
    expect(stderr).toContain("look at it with `docferry status --match 'docs*'`");
    expect(stderr.match(/no worker polls/g)).toHaveLength(1);
    expect(await running(`export:${scene.org}:${good}`)).toBe(true);
  });
});

describe.skipIf(!hasTerminals)('a person who waits in a terminal for many exports', () => {
  it('sees a table no wider than the terminal; Ctrl-C leaves the exports running', async () => {
    const sites = Array.from({ length: 30 }, (_, n) => `a-site-with-a-name-too-long-for-a-table-${n}.acme.example`);
    const organizations = [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example', ...sites] }];
    // The 31 share a busy machine, where a task may take longer than the two seconds of fast failover.
    scene = await setScene({
      sandbox: { jobSeconds: 3_600, organizations },
      sites,
      temporal: 'failover: tolerant',
    });
    await scene.startWorker();
    const { org, folder, configFile } = scene;
    const command = inShell('export', 'start', '--all', '--wait', '--yes', '--config', configFile);
    const person = new TerminalSession(command, { cwd: folder, env: { NO_COLOR: '1' } });
    await person.says(/docs\.acme\.example +rendering/);
    await person.says(/… \d+ more lines/);
    const drawn = person.said.slice(person.said.indexOf('docs.acme.example  '));
    person.type('\u0003');
    expect(await person.ended()).toBe(5);
    const widths = stripVTControlCharacters(drawn)
      .split('\r\n')
      .map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(80);
    expect(person.said).not.toContain('MaxListenersExceeded');
    expect(person.said).toContain('exported 0 of 31 sites: 31 still running');
    expect(person.said).toContain('look at it with `docferry status`, cancel it with `docferry export cancel --all`');
    expect(await running(`export:${org}:docs.acme.example`)).toBe(true);
    const joined = await docferry(['export', 'start', '--all', '--yes', '--config', configFile]);
    expect(joined).toMatchObject({ exitCode: 0, stdout: 'started 0 of 31 sites: 31 running already\n' });
  });
});

describe.skipIf(!hasTerminals)('a person who is asked in a terminal', () => {
  it('approves the versions that the plan showed, and none that came after it', async () => {
    scene = await setScene({ sandbox: { jobSeconds: 0.2, pages: 3 }, approvalTimeout: '1h' });
    await scene.startWorker();
    const { client, taskQueue, org, domain, sandbox, folder, configFile } = scene;
    const state = () => exportState(client, org, domain);
    const startAndAwait = async () => {
      await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse');
      await expect.poll(state).toMatchObject({ phase: 'awaiting-approval' });
      return `${(await state()).approval?.version}`;
    };
    const first = await startAndAwait();
    const listed = async () =>
      (await docferryJson(['status', '--config', configFile])).document.sites as { state: string }[];
    await expect.poll(async () => (await listed())[0]?.state).toBe('awaiting-approval');
    const approve = inShell('export', 'approve', '--all', '--config', configFile);
    const person = new TerminalSession(approve, { cwd: folder, env: { NO_COLOR: '1' } });
    await person.says('[y/N]');
    expect(person.said).toContain(first);

    // Meanwhile another person rejects it, and another version comes to wait.
    await rejectExport(client, { org, domain, version: first, reason: 'prices are wrong' }, {});
    const ended = () => client.workflow.getHandle(`export:${org}:${domain}`).describe();
    await expect.poll(async () => (await ended()).status.name).not.toBe('RUNNING');
    sandbox.publishRevision(domain);
    const second = await startAndAwait();
    person.type('y\n');
    expect(await person.ended()).toBe(1);
    expect(person.said).toMatch(/approved 0 of 1 site: 1 failed/);
    expect(await state()).toMatchObject({ phase: 'awaiting-approval', approval: { version: second } });

    const again = new TerminalSession(approve, { cwd: folder, env: { NO_COLOR: '1' } });
    await again.says('[y/N]');
    expect(again.said).toContain(second);
    again.type('n\n');
    expect(await again.ended()).toBe(1);
    expect(again.said).toContain('cancelled, nothing changed');
    expect(await state()).toMatchObject({ phase: 'awaiting-approval' });
  });
});
