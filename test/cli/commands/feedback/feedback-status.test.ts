import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import stringWidth from 'string-width';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { startSync } from '../../../../src/operations/syncs.ts';
import { docferry, docferryJson } from '../../../tools/cli/run-docferry.ts';
import { hasTerminals, inShell, TerminalSession } from '../../../tools/cli/terminal-session.ts';
import { begin, entry, page, wholePass } from '../../../tools/feedback/temporary-store.ts';
import { silentProxy } from '../../../tools/proxies/silent-proxy.ts';
import { type Scene, setScene } from '../../../tools/scene.ts';
import { useDevServer } from '../../../tools/temporal/temporal.ts';

let scene: Scene;
afterEach(() => scene?.end());

const projects = ['prj_2', ...Array.from({ length: 28 }, (_, n) => `prj_${n + 3}`)];

describe('feedback status of many projects', () => {
  it('is a line a project, from one list of Temporal and one look at the store', async () => {
    scene = await setScene({ projects, sandbox: { entries: 30 } });
    await scene.startWorker();
    const { configFile, folder, org } = scene;
    const read = await docferryJson(['feedback', 'sync', 'prj_1', '--wait', '--config', configFile]);
    expect(read.exitCode).toBe(0);
    const proxy = await silentProxy(useDevServer().address, () => false);
    const through = join(folder, 'through.yaml');
    const text = await readFile(configFile, 'utf8');
    await writeFile(through, text.replace(useDevServer().address, proxy.address));

    const status = await docferryJson(['feedback', 'status', '--config', through]);
    expect(status.document.projects).toHaveLength(30);
    const [first, second] = status.document.projects as object[];
    expect(first).toMatchObject({ org, project: 'prj_1', entries: 30, running: [], everSwept: true });
    expect(first).toHaveProperty('passes.0.outcome', 'completed');
    const late = { expected: null, measured: null };
    expect(second).toMatchObject({ org, project: 'prj_2', entries: 0, everSwept: false, passes: [], ...late });
    expect(proxy.calls.get('ListWorkflowExecutions')).toBe(1);
    // Whether the organization's budget runs; no pass is asked about.
    expect(proxy.calls.get('DescribeWorkflowExecution')).toBe(1);

    const lines = (await docferry(['feedback', 'status', '--config', configFile])).stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(31);
    expect(lines[1]).toMatch(new RegExp(`^prj_1 +${org} +30 .* idle +sweep completed`));
  });

  it.skipIf(!hasTerminals)('fits a screen of 60 columns, still a line a project', async () => {
    scene = await setScene({ projects });
    const { configFile, folder } = scene;
    const wide = inShell('feedback', 'status', '--config', configFile);
    const person = new TerminalSession(wide, { cwd: folder, columns: 60 });
    expect(await person.ended()).toBe(0);
    const lines = person.said.trimEnd().split('\r\n');
    expect(lines).toHaveLength(31);
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(60);
    expect(lines.at(-1)).toMatch(/^prj_30 .*idle +none yet/);

    const one = new TerminalSession(`${wide} prj_2`, { cwd: folder, columns: 40 });
    expect(await one.ended()).toBe(0);
    const words = one.said.trimEnd().split('\r\n');
    expect(Math.max(...words.map((line) => stringWidth(line)))).toBeLessThanOrEqual(40);
    const piped = await docferry(['feedback', 'status', 'prj_2', '--config', configFile]);
    expect(piped.stdout.trimEnd().split('\n').length).toBeLessThan(words.length);
  });
});

it('feedback status of one project says that an operator has paused a step of its pass', async () => {
  scene = await setScene({ sandbox: { entries: 30, faults: { errors: 10_000 } } });
  await scene.startWorker();
  const { client, taskQueue, org, project, configFile } = scene;
  const { workflowId } = await startSync(client, taskQueue, { org, project, pass: 'sweep' });
  const text = async () => (await docferry(['feedback', 'status', project, '--config', configFile])).stdout;
  await expect.poll(text).toMatch(/fetchPages failed; the next try is .*\(attempt \d+\): /);
  const { namespace } = client.options;
  const execution = { workflowId };
  await client.workflowService.pauseActivity({ namespace, execution, type: 'fetchPages', identity: 'op@host' });
  await expect.poll(text).toMatch(/fetchPages is paused by an operator until `temporal activity unpause`: /);
  await client.workflow.getHandle(workflowId).terminate();
});

it('feedback status of one project does not call personal data absent that has no date', async () => {
  scene = await setScene({ privacy: '{ retention: 400d }' });
  const { org, project, folder, configFile } = scene;
  const store = await openSqliteFeedbackStore(join(folder, 'data/feedback.db'));
  const text = async () => (await docferry(['feedback', 'status', project, '--config', configFile])).stdout;
  await begin(store, 'rejected', { org });
  expect(await text()).toContain('after 400 days; none stored\n');
  await store.upsertPage(page('rejected', [], { rejected: [{ id: 'r', raw: '{}', reason: 'path is missing' }] }));
  expect(await text()).toContain('after 400 days; stored only in entries not understood\n');
  await wholePass(store, 'undated', [entry('a', { contact: 'jane@mail.example', createdAt: null })], { org });
  expect(await text()).toContain('after 400 days; oldest stored 2026-11-21 08:00:01 UTC\n');
  await store.close();
  const { document } = await docferryJson(['feedback', 'status', project, '--config', configFile]);
  expect(document).not.toHaveProperty('projects.0.hasWholeRejects');
});
