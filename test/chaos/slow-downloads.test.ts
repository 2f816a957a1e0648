import { afterEach, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { exportHandle, exportState, startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { ChaosScene } from './chaos-scene.ts';

/**
 * Downloads that trickle for minutes, more than a worker's usual 100 steps at a time, beside syncs and exports of others:
 * nothing waits for them, nothing fails. Times are printed; the limit is the promise.
 */

const downloads = 120;
const archiveBytes = 250_000;
/** Long enough that a busy machine, too, has all of them at once. */
const trickleSeconds = 240;
const lateMs = 5_000;
/** The first poll of a job that has no history is planned for then. */
const firstPollMs = 6_000;
const rounds = 6;

const slow = Array.from({ length: downloads }, (_, n) => `slow-${n}.example`);
const others = Array.from({ length: rounds }, (_, n) => `other-${n}.example`);

let scene: ChaosScene;
afterEach(() => scene.end());

it(`${downloads} downloads that trickle delay nobody else`, async () => {
  scene = await ChaosScene.begin({
    sandbox: {
      organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: [...slow, ...others] }],
      entries: 120,
      jobSeconds: 1,
      padBytes: archiveBytes,
      storageRate: Math.floor(archiveBytes / trickleSeconds),
    },
    budget: '{ requests: 1000, window: 1m, arrival: 2s }',
    organization: `    sites: [${[...slow, ...others].map((domain) => `{ domain: ${domain} }`).join(', ')}]`,
  });
  await scene.up();
  const file = `${scene.folder}/docferry.yaml`;
  const { temporal } = loadConfig({ file, env: {}, cwd: scene.folder, secrets: 'required' });
  const client = await connectClient(temporal);
  const { taskQueue } = temporal;
  const begin = async (domain: string) =>
    (await startExport(client, taskQueue, { org: 'acme', domain, parameters: {} }, 'join')).handle;
  const downloading = () => scene.sandbox.log().filter((entry) => entry.kind === 'storage').length;
  // Each look is a query that the worker answers: more of them would be a load of their own.
  const waiting = { timeout: 200_000, interval: 250 };
  const late: Record<string, number[]> = { sync: [], start: [], poll: [] };
  try {
    await Promise.all(slow.map(begin));
    await expect.poll(downloading, { timeout: 230_000, interval: 200 }).toBeGreaterThanOrEqual(downloads);
    for (const domain of others) {
      const at = Date.now();
      const sync = startSync(client, taskQueue, {
        org: 'acme',
        project: 'prj_1',
        pass: 'incremental',
      });
      const synced = sync.then((handle) => handle.result()).then(() => late.sync?.push(Date.now() - at));
      await begin(domain);
      const progress = async () => (await exportState(client, 'acme', domain)).progress;
      await expect.poll(async () => (await progress())?.jobId, waiting).toEqual(expect.any(String));
      const startedAt = Date.now();
      late.start?.push(startedAt - at);
      await expect.poll(async () => (await progress())?.polls, waiting).toBeGreaterThan(0);
      late.poll?.push(Math.max(0, Date.now() - startedAt - firstPollMs));
      await synced;
    }
  } finally {
    for (const [what, times] of Object.entries(late)) {
      process.stderr.write(`  ${what}: after ${times.join(', ')} ms\n`);
    }
  }
  for (const times of Object.values(late)) expect(Math.max(...times)).toBeLessThanOrEqual(lateMs);
  for (const domain of [...slow, ...others]) {
    expect(await exportHandle(client, 'acme', domain).result()).toMatchObject({ outcome: 'published' });
  }
  await client.connection.close();
}, 900_000);
