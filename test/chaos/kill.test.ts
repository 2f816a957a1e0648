import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Database } from '../../src/sqlite.ts';
import { type Failover, failovers } from '../../src/temporal/rules/failover.ts';
import { ChaosScene } from './chaos-scene.ts';

/**
 * Everything is killed with -9 in the middle of a sync and of a download, as separate processes, and started again
 * (B1, S2, E3). Times are printed, never asserted.
 */

const domain = 'docs.acme.example';
const budget = { requests: 10, windowMs: 10_000 };
let scene: ChaosScene;

afterEach(() => scene.end());

async function begin(failover: Failover = 'fast'): Promise<void> {
  // Long enough to be killed in the middle, once the sync moves again.
  const storageRate = failover === 'fast' ? 6_000_000 : 1_000_000;
  const service = { entries: 3_000, jobSeconds: 1, padBytes: 60_000_000, storageRate };
  scene = await ChaosScene.begin({
    sandbox: { ...budget, ...service },
    failover,
    budget: `{ requests: ${budget.requests}, window: 10s, arrival: 2s }`,
    organization: `    sites: [{ domain: ${domain}, rollout: [{ directory: { path: ./site } }] }]`,
  });
}

const analytics = () => scene.sandbox.log().filter((entry) => entry.kind === 'analytics');
const storage = () => scene.sandbox.log().filter((entry) => entry.kind === 'storage');

/** Seconds until the first entry of a log after now; for print. */
async function movesAgain(what: string, log: () => readonly { at: number }[]): Promise<void> {
  const since = Date.now();
  await expect.poll(() => log().some((entry) => entry.at > since), { timeout: 90_000, interval: 50 }).toBe(true);
  const first = log().find((entry) => entry.at > since);
  process.stderr.write(`  ${what}: moving again after ${(((first?.at ?? since) - since) / 1000).toFixed(1)} s\n`);
}

function expectAllStoredOnce(): void {
  const db = new Database(join(scene.folder, 'data/feedback.db'), { readOnly: true });
  const ids = db.prepare('select id from feedback order by id').all() as { id: string }[];
  db.close();
  const truth = [...scene.sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id).sort();
  expect(ids.map((row) => row.id).sort()).toEqual(truth);
}

function expectBudgetKept(): void {
  expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(budget.requests);
  expect(analytics().filter((entry) => entry.status === 429)).toEqual([]);
}

async function expectPublishedWhole(result: unknown): Promise<void> {
  const { version, archive } = result as { version: string; archive: { sha256: string; bytes: number } };
  const file = await readFile(join(scene.folder, 'data/bundles', domain, 'versions', version, 'bundle.tar.gz'));
  expect(file.byteLength).toBe(archive.bytes);
  expect(createHash('sha256').update(file).digest('hex')).toBe(archive.sha256);
  expect(await readFile(join(scene.folder, 'site/current/index.html'), 'utf8')).toContain('<html');
}

describe('kill -9', () => {
  it.each(failovers)(
    'of the worker, in the middle of a sync and of a download: %s',
    async (failover) => {
      await begin(failover);
      await scene.orphanedServer();
      let worker = await scene.worker();
      const sync = scene.start(['feedback', 'sync', 'prj_1', '--wait', '--json']);
      const exported = scene.start(['export', 'start', domain, '--wait', '--json']);
      await expect.poll(() => analytics().length, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(12);
      await worker.kill('SIGKILL');
      worker = scene.start(['worker']);
      await movesAgain(`${failover}: sync, worker killed`, analytics);
      await expect.poll(() => storage().length, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(1);
      await worker.kill('SIGKILL');
      worker = scene.start(['worker']);
      await movesAgain(`${failover}: download, worker killed`, storage);
      expect(await sync.ended()).toBe(0);
      expect(await exported.ended()).toBe(0);
      const result = JSON.parse(sync.stdout);
      process.stderr.write(`  ${result.requests} requests for ${result.pages} pages, ${analytics().length} received\n`);
      expectAllStoredOnce();
      expectBudgetKept();
      await expectPublishedWhole(JSON.parse(exported.stdout));
      expect(storage().filter((entry) => entry.range === null)).toHaveLength(1);
      // The orphan of `up` is adopted and stopped with it.
      const last = await scene.up();
      await last.process.kill('SIGTERM');
    },
    400_000,
  );

  it('of the worker, between the publication and its answer: the next one needs no service (E5)', async () => {
    await begin();
    await scene.orphanedServer();
    const preload = resolve('test/chaos/kill-behind-pointer.mjs');
    const worker = scene.start(['worker'], { NODE_OPTIONS: `--import ${preload}` });
    const exported = scene.start(['export', 'start', domain, '--wait', '--json']);
    await worker.ended();
    expect(worker.child.signalCode, worker.output).toBe('SIGKILL');
    await scene.sandbox.stop();
    await scene.worker();
    expect(await exported.ended(), exported.output).toBe(0);
    await expectPublishedWhole(JSON.parse(exported.stdout));
    expect(JSON.parse(exported.stdout)).toMatchObject({ outcome: 'published', linksRequested: 1 });
    expect(storage()).toHaveLength(1);
  }, 240_000);

  it('of everything that up started, in the middle of a sync and of a download', async () => {
    await begin();
    let all = await scene.up();
    const again = async (what: string, log: () => readonly { at: number }[]) => {
      all.process.child.kill('SIGKILL');
      process.kill(all.serverPid, 'SIGKILL');
      await all.process.ended();
      all = await scene.up();
      await movesAgain(what, log);
    };
    // Those who wait see Temporal go and come back (contracts.md).
    const sync = scene.start(['feedback', 'sync', 'prj_1', '--wait', '--json']);
    const exported = scene.start(['export', 'start', domain, '--wait', '--json']);
    await expect.poll(() => analytics().length, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(12);
    await again('sync, everything killed', analytics);
    await expect.poll(() => storage().length, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(1);
    await again('download, everything killed', storage);
    expect([await sync.ended(), await exported.ended()]).toEqual([0, 0]);
    expectAllStoredOnce();
    expectBudgetKept();
    await expectPublishedWhole(JSON.parse(exported.stdout));
    expect(storage().filter((entry) => entry.range === null)).toHaveLength(1);
  }, 240_000);
});
