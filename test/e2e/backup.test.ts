import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { leaseMs } from '../../src/budget/rules/permits.ts';
import { ourTables } from '../../src/feedback/store/tables.ts';
import { filesBelow } from '../../src/files.ts';
import { Database } from '../../src/sqlite.ts';
import { ChaosScene } from '../chaos/chaos-scene.ts';
import { releaseLocks } from '../tools/feedback/temporary-store.ts';

const domain = 'docs.acme.example';
// Sixty pages, ten a window: the sweep takes half a minute, and a backup a fraction of that on a busy machine too.
const [entries, pageLimit] = [3_000, 50];
const [windowMs, arrivalMs] = [6_000, 1_000];

let scene: ChaosScene;
afterEach(async () => {
  await scene?.end();
});

/** Runs a command to its end; what it says as JSON. */
async function run(...args: string[]): Promise<Record<string, unknown> & { exitCode: number | null }> {
  const child = scene.start([...args, '--json']);
  const exitCode = await child.ended();
  return { ...JSON.parse(child.stdout), exitCode };
}

const place = (...names: string[]) => join(scene.folder, ...names);
const analytics = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics');
const pagesRead = () => analytics().length;

async function tablesIn(file: string): Promise<Record<string, unknown[]>> {
  const database = new Database(file);
  try {
    const own = new Set(['store_identity', 'retired_identities']);
    const tables = ourTables.filter((table) => !own.has(table));
    return Object.fromEntries(tables.map((table) => [table, database.prepare(`select * from ${table}`).all()]));
  } finally {
    database.close();
    // A test that looks often would otherwise run out of open files.
    await releaseLocks();
  }
}

async function bytesBelow(folder: string): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const path of await filesBelow(folder)) {
    const hash = createHash('sha256').update(await readFile(join(folder, path)));
    if (!path.startsWith('.')) digests[path] = hash.digest('hex');
  }
  return digests;
}

it('a backup taken while a sync and an export run is restored after the loss of everything, and both go on (B1, B7, X8)', async () => {
  scene = await ChaosScene.begin({
    sandbox: { entries, faults: { pageLimit }, requests: 10, windowMs, jobSeconds: 6, nullDates: 0 },
    budget: '{ requests: 10, window: 6s, arrival: 1s }',
    organization: `    sites: [{ domain: ${domain}, rollout: [{ directory: { path: ./site } }] }]`,
  });
  const first = await scene.up();
  const published = await run('export', 'start', domain, '--wait');
  expect(published).toMatchObject({ exitCode: 0, outcome: 'published' });
  scene.sandbox.publishRevision(domain);
  expect(await run('feedback', 'sync', 'prj_1', '--pass', 'sweep')).toMatchObject({ exitCode: 0 });
  expect(await run('export', 'start', domain)).toMatchObject({ exitCode: 0 });
  await expect.poll(pagesRead).toBeGreaterThanOrEqual(5);

  const taken = await run('backup', '--out', 'kept');
  expect(taken).toMatchObject({
    exitCode: 0,
    temporal: { file: { path: 'temporal.db' } },
    feedback: { file: { path: 'feedback.db' } },
    bundles: { files: expect.any(Number) },
  });
  expect(await run('restore', 'kept', '--force')).toMatchObject({ exitCode: 1, error: { code: 'DatabaseInUse' } });
  const inBackup = await tablesIn(place('kept', 'feedback.db'));
  expect(inBackup.feedback?.length).toBeGreaterThan(0);
  expect(inBackup.feedback?.length).toBeLessThan(entries);
  const pass = inBackup.sync_passes?.[0];
  expect(pass).toMatchObject({ outcome: 'running' });
  const bundles = await bytesBelow(place('kept', 'bundles'));
  expect(Object.keys(bundles)).toContain(`${domain}/versions/${published.version}/manifest.json`);

  // What was stored after the backup is lost, and read again.
  const stored = async () => (await tablesIn(place('data', 'feedback.db'))).feedback?.length;
  await expect.poll(stored).toBeGreaterThan(inBackup.feedback?.length ?? 0);
  await first.process.kill('SIGKILL');
  process.kill(first.serverPid, 'SIGKILL');
  for (const lost of ['data', 'site']) await rm(place(lost), { recursive: true });
  // SQLite would roll the restored database back with it.
  await mkdir(place('data'));
  await writeFile(place('data', 'temporal.db-journal'), 'of a killed server');

  const restoredAfter = Date.now();
  const restored = await run('restore', 'kept');
  expect(restored).toMatchObject({ exitCode: 0, budgets: ['acme'], missing: [] });
  expect(restored.aside).toEqual([expect.stringContaining('temporal.db-journal.before-')]);
  expect(await tablesIn(place('data', 'feedback.db'))).toEqual(inBackup);
  expect(await bytesBelow(place('data', 'bundles'))).toEqual(bundles);
  expect(await run('restore', 'kept')).toMatchObject({ exitCode: 1, error: { code: 'PlaceTaken' } });

  const before = pagesRead();
  await scene.up();
  await expect
    .poll(async () => (await tablesIn(place('data', 'feedback.db'))).sync_passes, { interval: 500 })
    .toMatchObject([{ pass_id: (pass as { pass_id: string }).pass_id, outcome: 'completed' }]);
  // What the lost ledger may have granted has left the window before the new one grants anything.
  expect(analytics()[before]?.at).toBeGreaterThanOrEqual(restoredAfter + leaseMs + arrivalMs + windowMs);
  expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(10);
  expect((await tablesIn(place('data', 'feedback.db'))).feedback).toHaveLength(entries);
  const current = async () => JSON.parse(await readFile(place('data', 'bundles', domain, 'current.json'), 'utf8'));
  await expect.poll(current).toMatchObject({ epoch: 2 });
});
