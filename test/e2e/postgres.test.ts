import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { plantedMarkers } from '../../sandbox/index.ts';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { createDatabase, hasPostgres, type PostgresDatabase, usePostgres } from '../tools/servers/postgres-database.ts';
import { startPostgres } from '../tools/servers/postgres-server.ts';
import { histories } from '../tools/temporal/histories.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

async function sync(pass: 'sweep' | 'incremental') {
  const { client, taskQueue, org, project } = scene;
  return await startSync(client, taskQueue, { org, project, pass });
}

/** Every entry that the sandbox has is stored once, with the status it has. */
async function expectTruth(database: PostgresDatabase): Promise<void> {
  const held = await database.rows('select id, status, comment, created_at from feedback order by id');
  const truth = [...scene.sandbox.truth(scene.project)] as Record<string, unknown>[];
  const expected = truth.map(({ id, status, comment, createdAt }) => ({ id, status, comment, created_at: createdAt }));
  expect(held).toEqual(expected.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1)));
}

describe.skipIf(!hasPostgres())('the whole thread with PostgreSQL', () => {
  it('two workers fill one database, passes of a project beside each other', async () => {
    const database = await createDatabase();
    onTestFinished(() => database[Symbol.asyncDispose]());
    scene = await setScene({ sandbox: { entries: 2_000, jobSeconds: 1 }, feedback: database.url });
    // Both make the tables.
    await Promise.all([scene.startWorker(), scene.startWorker()]);
    const { client, taskQueue, org, domain } = scene;
    const exported = await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const [sweep, incremental] = await Promise.all([sync('sweep'), sync('incremental')]);
    const [first, second] = await Promise.all([sweep.result(), incremental.result()]);
    expect(await exported.handle.result()).toMatchObject({ outcome: 'published' });
    expect(first.entries).toMatchObject({ seen: 2_000, rejected: 0 });
    expect(first.entries.inserted + second.entries.inserted).toBe(2_000);
    expect(first.entries.updated + second.entries.updated).toBe(0);
    await expectTruth(database);
    expect(await database.rows('select outcome from export_runs')).toEqual([{ outcome: 'published' }]);
  });

  it('goes on behind the last committed page when the server crashes and comes back, and tells no secret', async () => {
    const server = await startPostgres(usePostgres().binaries);
    onTestFinished(() => server.stop());
    const database = await createDatabase(server.address);
    scene = await setScene({
      sandbox: { entries: 4_000, requests: 10, windowMs: 4_000 },
      budget: '{ requests: 10, window: 4s, arrival: 1s }',
      feedback: database.url,
    });
    await scene.startWorker();
    const running = await sync('sweep');
    const pages = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics').length;
    await expect.poll(pages).toBeGreaterThanOrEqual(12);
    await server.crash();
    const before = pages();
    const failure = async () => (await running.describe()).raw.pendingActivities?.[0]?.lastFailure?.message ?? '';
    await expect.poll(failure).toContain('ECONNREFUSED');
    // Without its database a worker asks for nothing: at most the page in flight is lost.
    expect(pages() - before).toBeLessThanOrEqual(1);
    await server.start();
    const result = await running.result();
    expect(result.entries).toMatchObject({ seen: 4_000, inserted: 4_000 });
    expect(pages()).toBeLessThanOrEqual(41 + 1);
    await expectTruth(database);
    const told = `${await histories(scene)}\n${scene.logged()}`;
    expect(told).toContain(database.place.place);
    for (const secret of [
      database.password,
      encodeURIComponent(database.password),
      ...Object.values(plantedMarkers).flat(),
    ]) {
      expect(told.includes(secret), `${secret.slice(0, 8)}… stands in a history or log`).toBe(false);
    }
  });

  it('refuses to go on in another database (StoreMismatch)', async () => {
    const databases = [await createDatabase(), await createDatabase()];
    onTestFinished(async () => {
      for (const database of databases) await database[Symbol.asyncDispose]();
    });
    const [first, second] = databases;
    scene = await setScene({
      sandbox: { entries: 3_000, requests: 10, windowMs: 3_000 },
      budget: '{ requests: 10, window: 3s, arrival: 1s }',
      feedback: first?.url ?? '',
    });
    const worker = await scene.startWorker();
    const running = await sync('sweep');
    await expect.poll(() => scene.sandbox.log().length).toBeGreaterThanOrEqual(5);
    await worker.stop();
    await scene.startWorker(second?.url);
    await expect(running.result()).rejects.toMatchObject({ cause: { cause: { type: 'StoreMismatch' } } });
    expect(await second?.rows('select id from feedback')).toEqual([]);
  });
});
