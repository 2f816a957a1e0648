import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { ExportResult } from '../../../src/exports/rules/site-export.ts';
import { startExport } from '../../../src/operations/exports.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

async function exportSite(): Promise<ExportResult> {
  const { client, taskQueue, org, domain } = scene;
  return (await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join')).handle.result();
}

it('an export ends in the values file: published address, no link; again only where it is not in service (E3, E6)', async () => {
  scene = await setScene({
    sandbox: { jobSeconds: 1 },
    rollout: '[{ helmValues: { file: values.yaml } }, { helmValues: { file: missing.yaml } }]',
  });
  const values = join(scene.folder, 'values.yaml');
  await writeFile(values, 'replicas: 2 # two\nstaticExport: { enabled: false }\n');
  await scene.startWorker();
  const first = await exportSite();
  expect(first).toMatchObject({
    outcome: 'rollout-failed',
    rollouts: [
      { target: 'helmValues:values.yaml', outcome: 'rolled-out' },
      { target: 'helmValues:missing.yaml', outcome: 'failed', detail: expect.stringContaining('create it') },
    ],
  });
  const written = await readFile(values, 'utf8');
  expect(written).toBe(
    `replicas: 2 # two\nstaticExport: { enabled: true, bundleUrl: "${first.url}", version: "${first.version}" }\n`,
  );
  expect(scene.sandbox.linkSecrets().some((secret) => written.includes(secret))).toBe(false);

  await writeFile(join(scene.folder, 'missing.yaml'), '');
  const { mtimeMs, ino } = await stat(values);
  const second = await exportSite();
  expect(second.rollouts.map(({ outcome }) => outcome)).toEqual(['already-current', 'rolled-out']);
  expect(await stat(values)).toMatchObject({ mtimeMs, ino });
});
