import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { budgetView } from '../../src/budget/client.ts';
import { startSync, syncState } from '../../src/operations/syncs.ts';
import { docferryJson } from '../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

const analyticsOf = (org: string) =>
  scene.sandbox.log().filter((entry) => entry.kind === 'analytics' && entry.org === org).length;

describe('several organizations in one configuration', () => {
  it('each have their key and budget; a refused key of one stops only that one, until its file is corrected', async () => {
    scene = await setScene({
      sandbox: {
        organizations: [
          { id: 'acme', projects: [{ id: 'prj_1', entries: 300 }], domains: ['docs.acme.example'] },
          { id: 'globex', projects: [{ id: 'prj_g', entries: 200 }] },
        ],
      },
      files: { 'globex.key': 'dk_admin_of_somebody_else\n' },
      organizations: (org) => `  - id: ${org}-globex
    apiKeyFile: ./globex.key
    budget: { requests: 7, window: 1h }
    projects: [{ id: prj_g }]`,
    });
    const { client, taskQueue, org, folder, configFile } = scene;
    const globex = `${org}-globex`;
    await scene.startWorker();

    const theirs = { org: globex, project: 'prj_g', pass: 'sweep' as const };
    await startSync(client, taskQueue, { ...theirs });
    const ours = await startSync(client, taskQueue, { org, project: 'prj_1', pass: 'sweep' });
    expect((await ours.result()).entries.seen).toBe(300);
    await expect.poll(() => syncState(client, theirs)).toMatchObject({ phase: 'unauthorized' });
    expect(await budgetView(client, org)).toMatchObject({ limit: 100, pausedBy: null, used: 3 });
    expect(await budgetView(client, globex)).toMatchObject({ limit: 7, pausedBy: 'unauthorized' });
    expect([analyticsOf('acme'), analyticsOf('globex')]).toEqual([3, 0]);

    await writeFile(join(folder, 'globex.key'), 'dk_admin_sandbox_globex_planted_key\n');
    const synced = await docferryJson([
      'feedback',
      'sync',
      'prj_g',
      '--pass',
      'sweep',
      '--wait',
      '--config',
      configFile,
    ]);
    expect(synced).toMatchObject({ exitCode: 0, document: { org: globex, entries: { seen: 200 } } });
    expect([analyticsOf('acme'), analyticsOf('globex')]).toEqual([3, 2]);
  });
});
