import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { busyWindow, settingsOf } from '../../../../bench/budget/budget-waiters-model.ts';
import { packed } from '../../../../src/budget/rules/carry-window.ts';
import { budgetWorkflowId } from '../../../../src/rules/workflow-ids.ts';
import { docferry, docferryJson } from '../../../tools/cli/run-docferry.ts';
import { hasTerminals, inShell, TerminalSession } from '../../../tools/cli/terminal-session.ts';
import { type Scene, setScene } from '../../../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const budget = (...args: string[]) => docferryJson(['budget', ...args, '--config', scene.configFile]);

describe('budget', () => {
  it('is set, shown, reset, paused and resumed by hand', async () => {
    scene = await setScene({ budget: '{ requests: 50, window: 1h, reserve: 10 }' });
    await scene.startWorker();
    const { org } = scene;
    expect((await budget('show')).document).toMatchObject({
      org,
      limit: 50,
      reserve: 10,
      available: 40,
      otherClients: null,
    });

    const set = await budget('set', org, '--requests', '20', '--reserve', '5', '--for', '2h');
    expect(set.exitCode).toBe(0);
    expect(set.document).toMatchObject({ limit: 20, reserve: 5, available: 15 });
    expect(set.document).toMatchObject({ override: { until: expect.stringMatching(/^\d{4}-.*Z$/) } });
    expect((await budget('reset', org)).document).toMatchObject({ limit: 50, reserve: 10, override: null });

    expect((await budget('pause', org)).document).toMatchObject({
      pausedBy: 'paused',
      pausedUntil: null,
      available: 0,
    });
    const shown = await docferry(['budget', 'show', '--config', scene.configFile]);
    expect(shown.stdout).toMatch(/paused +by hand until resumed/);
    expect((await budget('pause', org, '--for', '10m')).document).toMatchObject({
      pausedUntil: expect.stringMatching(/Z$/),
    });
    expect((await budget('resume', org)).document).toMatchObject({ pausedBy: null, available: 40 });
  });

  it('is shown for all organizations when none is named', async () => {
    scene = await setScene({ budget: '{ requests: 50, window: 1h }' });
    await scene.startWorker();
    const { org } = scene;
    const config = parse(await readFile(scene.configFile, 'utf8'));
    const other = { ...config.organizations[0], id: `${org}-2`, projects: [], sites: [] };
    config.organizations.unshift({ ...other, id: `${org}-10` }, other);
    await writeFile(scene.configFile, stringify(config));
    expect((await budget('show')).document).toMatchObject({
      organizations: [org, `${org}-2`, `${org}-10`].map((id) => ({ org: id, limit: 50, used: 0 })),
    });
    expect((await budget('show', `${org}-2`)).document).toMatchObject({ org: `${org}-2` });
    const { stdout } = await docferry(['budget', 'show', '--config', scene.configFile]);
    expect(stdout).toMatch(/^organization +used +free .*\n.* 0 of 50 in 1 h +50 /);
  });

  it('is shown for the other organizations when that of one does not answer', async () => {
    scene = await setScene({ budget: '{ requests: 50, window: 1h }' });
    await scene.startWorker();
    const { org, client, taskQueue } = scene;
    const config = parse(await readFile(scene.configFile, 'utf8'));
    const other = { ...config.organizations[0], id: `${org}-2`, projects: [], sites: [] };
    config.organizations.unshift(other);
    await writeFile(scene.configFile, stringify(config));
    // No worker knows it, so that it answers no query.
    await client.workflow.start('noSuchWorkflow', { workflowId: budgetWorkflowId(other.id), taskQueue });
    const { exitCode, document } = await budget('show');
    expect(document).toMatchObject({
      organizations: [
        { org, limit: 50, used: 0 },
        { org: other.id, error: { code: expect.any(String), message: expect.any(String) } },
      ],
    });
    expect(exitCode).toBe(1);
    const { stdout } = await docferry(['budget', 'show', '--config', scene.configFile]);
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(lines.find(([name]) => name === org)?.slice(1, 3)).toEqual(['0 of 50 in 1 h', '50']);
    expect(lines.find(([name]) => name === other.id)?.slice(1, 6)).toEqual(['?', '?', '?', '?', '?']);
  });

  it('is moved to the task queue of the configuration (B7)', async () => {
    scene = await setScene();
    await scene.startWorker();
    const { org } = scene;
    const unknown = await budget('move', 'nobody');
    expect(unknown.exitCode).toBe(4);
    await budget('set', org, '--requests', '7');
    const { taskQueue } = await scene.client.workflow.getHandle(`budget:${org}`).describe();
    expect(await budget('move', org)).toMatchObject({ exitCode: 0, document: { org, outcome: 'in-place', taskQueue } });
    const config = await readFile(scene.configFile, 'utf8');
    const renamed = join(dirname(scene.configFile), 'renamed.yaml');
    await writeFile(renamed, config.replace(taskQueue, `${taskQueue}-renamed`));
    const moved = await docferryJson(['budget', 'move', org, '--config', renamed]);
    expect(moved).toMatchObject({ exitCode: 0, document: { outcome: 'moved', taskQueue: `${taskQueue}-renamed` } });
  });

  it('says what is wrong with its arguments (exit code 2)', async () => {
    scene = await setScene();
    await scene.startWorker();
    const { org } = scene;
    const wrong: [args: string[], message: RegExp][] = [
      [['set', org], /--requests, --reserve or both/],
      [['pause', org, '--for', '400d'], /--for is longer than 30 days/],
      [['set', org, '--requests', 'many'], /--requests is "many"/],
      [['set', org, '--requests', '10', '--for', 'soon'], /--for is "soon"/],
      [['set', org, '--requests', '0'], /requests must be a whole number from 1 to 10000/],
      [['set', org, '--reserve', '100'], /reserve \(100\) must be less than requests \(100\)/],
      [['watch', org, '--for', '0s'], /--for is "0s"/],
    ];
    for (const [args, message] of wrong) {
      const { exitCode, document } = await budget(...args);
      expect(exitCode).toBe(2);
      expect(document).toMatchObject({ error: { message: expect.stringMatching(message) } });
    }
    expect((await budget('show', 'nobody')).exitCode).toBe(4);
  });

  it('is watched as lines off a terminal, ending with the window', async () => {
    scene = await setScene();
    await scene.startWorker();
    const watched = await budget('watch', '--for', '2s');
    expect(watched).toMatchObject({ exitCode: 0, document: { org: scene.org, used: 0, available: 100 } });
    expect(watched.stderr).toContain(`budget of ${scene.org}: 0 of 100 used, 100 free, 0 in use, 0 waiting`);
  });

  it.skipIf(!hasTerminals)('is watched on a screen that it fits, however many wait', async () => {
    scene = await setScene({ budget: '{ requests: 100, window: 1h }' });
    await scene.startWorker();
    const { client, taskQueue, org, folder, configFile } = scene;
    const [waiters, rows] = [200, 24];
    const carried = packed(busyWindow(waiters, 100, Date.now()));
    const args = [{ org: `${org}-crowded`, settings: settingsOf(100), carried }];
    await client.workflow.start('rateBudget', { workflowId: budgetWorkflowId(`${org}-crowded`), taskQueue, args });
    const crowded = join(folder, 'crowded.yaml');
    await writeFile(crowded, (await readFile(configFile, 'utf8')).replace(`- id: ${org}\n`, `- id: ${org}-crowded\n`));
    // The last window goes to a file: as a result it is complete.
    const watch = inShell('budget', 'watch', '--for', '3s', '--config', crowded);
    const person = new TerminalSession(`${watch} > last.txt`, { cwd: folder, columns: 80, rows });
    expect(await person.ended()).toBe(0);
    expect(person.said).toMatch(/… \d+ more waiting/);
    // Each redrawing goes back over the lines of the one before: never over more than the screen has.
    const back = `${String.fromCharCode(27)}[1A`;
    const heights = person.said.split('\n').map((line) => line.split(back).length);
    expect(Math.max(...heights)).toBeGreaterThan(10);
    expect(Math.max(...heights)).toBeLessThanOrEqual(rows);
    const last = await readFile(join(folder, 'last.txt'), 'utf8');
    expect(last.split('\n').length).toBeGreaterThan(waiters);
  });
});
