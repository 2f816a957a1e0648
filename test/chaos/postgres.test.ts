import { afterEach, describe, expect, it } from 'vitest';
import { createDatabase, hasPostgres, type PostgresDatabase } from '../tools/servers/postgres-database.ts';
import { ChaosScene } from './chaos-scene.ts';

/**
 * Two worker processes on one PostgreSQL, killed with -9 in turn in the middle of two passes of one project (B1,
 * S1, S2).
 */

const budget = { requests: 20, windowMs: 5_000 };
const project = 'prj_1';
let scene: ChaosScene;
let database: PostgresDatabase;

afterEach(async () => {
  await scene?.end();
  await database?.[Symbol.asyncDispose]();
});

async function begin(): Promise<void> {
  database = await createDatabase();
  scene = await ChaosScene.begin({
    sandbox: { ...budget, entries: 8_000, rejects: 0.01 },
    budget: `{ requests: ${budget.requests}, window: 5s, arrival: 1s }`,
    config: `store: { feedback: "${database.url}" }`,
  });
  await scene.orphanedServer();
}

const analytics = () => scene.sandbox.log().filter((entry) => entry.kind === 'analytics');

describe.skipIf(!hasPostgres())('two workers on one PostgreSQL', () => {
  it('lose and double nothing, whichever of them is killed', async () => {
    await begin();
    const workers = [await scene.worker(), await scene.worker()];
    const syncs = ['sweep', 'incremental'].map((pass) =>
      scene.start(['feedback', 'sync', project, '--pass', pass, '--wait', '--json']),
    );
    for (let kill = 0; kill < 4; kill += 1) {
      const at = analytics().length;
      await expect.poll(() => analytics().length, { timeout: 90_000, interval: 20 }).toBeGreaterThanOrEqual(at + 15);
      await workers[kill % 2]?.kill('SIGKILL');
      workers[kill % 2] = await scene.worker();
    }
    const results: { pages: number; requests: number; entries: Record<string, number> }[] = [];
    for (const sync of syncs) {
      expect(await sync.ended(), sync.output).toBe(0);
      results.push(JSON.parse(sync.stdout));
    }
    const pages = results.reduce((sum, result) => sum + result.pages, 0);
    process.stderr.write(`  ${analytics().length} requests for ${pages} pages, workers killed 4 times\n`);

    const truth = [...scene.sandbox.truth(project)] as ({ id?: unknown; status?: unknown; comment?: unknown } | null)[];
    const held = new Map((await database.rows('select * from feedback')).map((row) => [row.id, row]));
    const rejected = await database.rows('select id from feedback_rejects');
    const distinct = new Set(truth.map((entry) => (typeof entry?.id === 'string' ? entry.id : JSON.stringify(entry))));
    expect(held.size + rejected.length).toBe(distinct.size);
    for (const entry of truth) {
      const row = held.get(entry?.id);
      if (row) expect(row).toMatchObject({ status: entry?.status, comment: entry?.comment ?? null });
    }
    // Each entry was new to one pass and known to the other; neither counted what the other had done.
    expect(results.reduce((sum, { entries }) => sum + (entries.inserted ?? 0), 0)).toBe(held.size);
    expect(results.map(({ entries }) => entries.updated)).toEqual([0, 0]);
    expect(results.map(({ entries }) => entries.seen)).toEqual([truth.length, truth.length]);
    expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(budget.requests);
    expect(analytics().filter((entry) => entry.status === 429)).toEqual([]);
  }, 300_000);
});
