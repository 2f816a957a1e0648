import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findFreePort } from '../../src/local/ports.ts';
import type { ChangedEntry } from '../../src/runs/rules/webhook-event.ts';
import { Database } from '../../src/sqlite.ts';
import { type Failover, failovers } from '../../src/temporal/rules/failover.ts';
import { webhookSecret } from '../tools/servers/webhook-receiver.ts';
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

  it('of a receiver of entries and of the worker: each change arrives once by its id, and nothing erased after that (X9)', async () => {
    const port = await findFreePort();
    scene = await ChaosScene.begin({
      sandbox: { ...budget, entries: 300 },
      budget: `{ requests: ${budget.requests}, window: 10s, arrival: 2s }`,
      organization: `    watchEvery: 1s
    webhooks: [{ name: tracker, url: "http://127.0.0.1:${port}", secret: ${webhookSecret}, events: [feedback.entries] }]`,
    });
    const file = join(scene.folder, 'received.jsonl');
    const receiver = async (...faults: string[]) => {
      const started = scene.start([`${port}`, file, ...faults], {}, resolve('test/chaos/receiver.mjs'));
      await started.says('receiver: ready');
      return started;
    };
    const received = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean);
    const stored = (query: string): unknown[] => {
      const db = new Database(join(scene.folder, 'data/feedback.db'), { readOnly: true });
      const rows = db.prepare(query).all();
      db.close();
      return rows;
    };
    const run = async (...args: string[]) => {
      const command = scene.start(args);
      expect(await command.ended(), command.output).toBe(0);
    };

    await scene.orphanedServer();
    const worker = await scene.worker();
    // What was there before the first look is not sent.
    await expect.poll(() => stored('select * from webhook_positions')).toHaveLength(1);
    const failing = await receiver('fail', 'late', 'cut', 'die');
    await run('feedback', 'sync', 'prj_1', '--wait');
    await expect.poll(async () => (await received()).length).toBeGreaterThanOrEqual(3);
    await worker.kill('SIGKILL');
    await scene.worker();
    await failing.ended();
    expect(failing.child.signalCode).toBe('SIGKILL');

    // While nobody listens, two entries change, and the person behind one of them is erased.
    const [erased, other] = [...scene.sandbox.truth('prj_1')].flatMap((entry) => {
      const { id, contact } = entry as { id: string; contact?: string | null };
      return contact ? [{ id, contact }] : [];
    });
    if (!erased || !other) throw new Error('the sandbox has no contacts');
    scene.sandbox.changeEntries('prj_1', [
      { id: erased.id, fields: { comment: 'WORDS OF THE ERASED' } },
      { id: other.id, fields: { comment: 'words of another' } },
    ]);
    await run('feedback', 'sync', 'prj_1', '--pass', 'sweep', '--wait');
    await run('feedback', 'erase', '--contact', erased.contact, '--yes');
    const before = (await received()).length;

    await receiver();
    const kept = async () => {
      const newest = new Map<string, number>();
      for (const line of await received()) {
        for (const { id, change } of JSON.parse(line).data.entries as ChangedEntry[]) {
          newest.set(id, Math.max(change, newest.get(id) ?? 0));
        }
      }
      return newest;
    };
    const changes = stored('select id, change from feedback_positions') as { id: string; change: number }[];
    expect(changes).toHaveLength(300);
    await expect.poll(kept).toEqual(new Map(changes.map(({ id, change }) => [id, change])));

    const all = await received();
    const since = all.slice(before).join();
    expect(since).toContain('words of another');
    expect(since).not.toMatch(/WORDS OF THE ERASED|secret\.example/);
    // What came twice is the same but for what was erased meanwhile.
    const first = new Map<string, string>();
    let repeated = 0;
    for (const entry of all.flatMap((line) => JSON.parse(line).data.entries as ChangedEntry[])) {
      const name = `${entry.id} ${entry.change}`;
      const known = first.get(name);
      if (known === undefined) first.set(name, JSON.stringify(entry));
      else repeated += 1;
      if (known !== undefined && entry.id !== erased.id) expect(JSON.stringify(entry)).toBe(known);
    }
    process.stderr.write(`  ${all.length} messages, ${first.size} changes, ${repeated} of them again\n`);
    expect(repeated).toBeGreaterThan(0);
  }, 600_000);
});
