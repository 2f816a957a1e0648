import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Database } from '../../src/sqlite.ts';
import { type Differences, differences } from '../tools/feedback/feedback-truth.ts';
import { postgresBinaries } from '../tools/servers/postgres-binaries.ts';
import { createDatabase, hasPostgres } from '../tools/servers/postgres-database.ts';
import { type PostgresServer, startPostgres } from '../tools/servers/postgres-server.ts';
import { ChaosScene } from './chaos-scene.ts';

/**
 * The refresh with two workers that are killed -9 before and after each of their commits, with passes
 * on demand in between, on a server and a store that are started again: nothing is lost, nothing tombstoned that is
 * there, at most one page is asked for again a kill (B1, S2, S4).
 */

const limit = 20;
const projects = ['prj_1', 'prj_2'];
/** So many workers of two die, each two steps later than the one before: before its next commit, or after it. */
const deaths = 10;
let scene: ChaosScene;

afterEach(() => scene.end());

const analytics = () => scene.sandbox.log().filter((entry) => entry.kind === 'analytics');
const isSame = ({ missing, different, surplus, unrejected }: Differences) =>
  missing + different + surplus + unrejected === 0;

/** The changes of one kind of a round: of entries that nothing else changes, of all projects and ages. */
function plant(project: string, round: number, ids: readonly string[], deleted: Set<string>): void {
  const [closed = '', opened = '', edited = '', lost = ''] = [0, 1, 2, 3].map((kind) => ids[(round * 4 + kind) * 23]);
  scene.sandbox.addEntries(project, { count: 2 });
  scene.sandbox.changeEntries(project, [
    { id: closed, status: 'resolved' },
    { id: opened, status: 'pending' },
    { id: edited, fields: { comment: `edited in round ${round}` } },
  ]);
  scene.sandbox.deleteEntries(project, [lost]);
  deleted.add(lost);
}

/** The feedback store of a test, read past docferry's code. */
interface Store {
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** As after a crash of its machine. */
  restart(): Promise<void>;
}

const sqlite: Store = {
  rows: async (sql) => {
    const db = new Database(join(scene.folder, 'data/feedback.db'), { readOnly: true });
    try {
      return db.prepare<Record<string, unknown>>(sql).all();
    } finally {
      db.close();
    }
  },
  restart: async () => {},
};

async function tombstoned({ rows }: Store): Promise<string[]> {
  const changes = await rows("select distinct id from feedback_changes where field = 'deleted_at' and new is not null");
  return changes.map(({ id }) => `${id}`);
}

/** Once all of these projects are as the service has them. */
async function allKnown({ rows }: Store, all: readonly string[]): Promise<void> {
  const isKnown = async (project: string) => {
    const of = (table: string) => rows(`select * from ${table} where project_id = '${project}'`);
    const held = { entries: await of('feedback'), rejects: await of('feedback_rejects') };
    return isSame(differences(scene.sandbox, project, held));
  };
  await expect
    .poll(() => Promise.all(all.map(isKnown)), { timeout: 400_000, interval: 1_000 })
    .toEqual(all.map(() => true));
}

describe('the refresh', () => {
  it('reads five projects for the first time, then finds changes of all kinds, within the limit of a short window', async () => {
    const five = [1, 2, 3, 4, 5].map((n) => `prj_${n}`);
    const most = 40;
    scene = await ChaosScene.begin({
      sandbox: {
        requests: most,
        windowMs: 20_000,
        organizations: [{ id: 'acme', projects: five.map((id) => ({ id, entries: 500 })), domains: [] }],
      },
      budget: `{ requests: ${most}, window: 20s, arrival: 1s }`,
      projects: five,
      organization: '    refresh: { every: 1s, share: 90% }',
    });
    await scene.up();
    const began = performance.now();
    await allKnown(sqlite, five);
    const first = [performance.now() - began, analytics().length] as const;
    const deleted = new Set<string>();
    const ids = new Map(
      five.map((id) => [id, [...scene.sandbox.truth(id)].map((entry) => (entry as { id: string }).id)]),
    );
    for (let round = 0; round < 5; round += 1) {
      for (const project of five) plant(project, round, ids.get(project) ?? [], deleted);
      await sleep(10_000);
    }
    const planted = [performance.now(), analytics().length] as const;
    await allKnown(sqlite, five);
    const found = [performance.now() - planted[0], analytics().length - planted[1]] as const;
    expect((await tombstoned(sqlite)).sort()).toEqual([...deleted].sort());
    expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(most);
    const status = scene.start(['feedback', 'status', '--json']);
    expect(await status.ended(), status.output).toBe(0);
    const { projects: said } = JSON.parse(status.stdout);
    const text = ([ms, requests]: readonly [number, number]) => `${Math.round(ms / 1_000)} s, ${requests} requests`;
    const delays = said.map(({ expected, measured }: { expected: { newMs: number }; measured: { newMs: number } }) =>
      [expected, measured].map(({ newMs }) => (newMs / 1_000).toFixed(1)).join('/'),
    );
    process.stderr.write(
      `  first reading ${text(first)}; the last of ${five.length * 5 * 6} changes ${text(found)} after the last was planted; ` +
        `${scene.sandbox.maxInAnyWindow('acme')} of ${most} in any window; new entries after s, expected/measured: ${delays.join(' ')}\n`,
    );
  });

  it('loses and tombstones nothing when its two workers are killed at every step of a run', async () => {
    await killAtEveryStep(sqlite, '');
  }, 1_800_000);

  it.skipIf(!hasPostgres())(
    'does neither on a PostgreSQL that crashes meanwhile',
    async () => {
      await using server = await ownPostgres();
      const database = await createDatabase(server.address);
      const restart = async () => {
        await server.crash();
        await server.start();
      };
      await killAtEveryStep({ rows: database.rows, restart }, `store: { feedback: "${database.url}" }`);
    },
    1_800_000,
  );
});

async function ownPostgres(): Promise<PostgresServer & AsyncDisposable> {
  const server = await startPostgres(postgresBinaries() ?? '', { ssl: false });
  return { ...server, [Symbol.asyncDispose]: () => server.stop() };
}

async function killAtEveryStep(store: Store, config: string): Promise<void> {
  const organization = { id: 'acme', projects: projects.map((id) => ({ id, entries: 250 })), domains: [] };
  scene = await ChaosScene.begin({
    sandbox: { requests: limit, windowMs: 5_000, organizations: [organization] },
    budget: `{ requests: ${limit}, window: 5s, arrival: 1s }`,
    projects,
    organization: '    refresh: { every: 1s, share: 90% }',
    config,
    // A busy machine takes longer than the two seconds of a fast one to replay what a killed worker knew.
    failover: 'tolerant',
  });
  await scene.orphanedServer();
  const preload = resolve('test/chaos/kill-at-statement.mjs');
  const deleted = new Set<string>();
  let started = 0;
  const mortal = () => {
    started += 1;
    const killAt = `${2 * started + (started % 2)}`;
    return scene.start(['worker'], { NODE_OPTIONS: `--import ${preload}`, KILL_OF: 'commits', KILL_AT: killAt });
  };
  const workers = [mortal(), mortal()];
  // One that starts while there is no server or store ends with an error.
  const ready = () => Promise.all(workers.map((worker) => worker.says('worker: ready').catch(() => undefined)));
  let restarts = 0;
  for (let step = 1; step <= deaths; step += 1) {
    for (const project of projects) {
      const all = [...scene.sandbox.truth(project)] as { id: string }[];
      const id = all[(step * 7) % all.length]?.id ?? '';
      scene.sandbox.addEntries(project, { count: 1 });
      scene.sandbox.changeEntries(project, [{ id, fields: { comment: `edited at step ${step}` } }]);
    }
    if (step % 4 === 0) {
      const [entry] = scene.sandbox.truth('prj_1') as Generator<{ id: string }>;
      deleted.add(entry?.id ?? '');
      scene.sandbox.deleteEntries('prj_1', [entry?.id ?? '']);
      await ready();
      await store.restart();
      restarts += 1;
    }
    // Also of a pass that a person asks for, and of the server.
    const asked = step % 3 === 0 ? scene.start(['feedback', 'sync', 'prj_2', '--pass', 'sweep', '--json']) : null;
    const place = await Promise.race(workers.map((worker, index) => worker.ended().then(() => index)));
    expect(workers[place]?.child.signalCode, workers[place]?.output).toBe('SIGKILL');
    workers[place] = mortal();
    await asked?.ended();
    if (step !== deaths / 2) continue;
    await ready();
    await scene.restartServer();
  }
  for (const worker of workers) await worker.kill('SIGKILL');
  // Two that stay, and a person's pass.
  const [other, last] = [await scene.worker(), await scene.worker()];
  const sync = scene.start(['feedback', 'sync', 'prj_1', '--pass', 'incremental', '--wait', '--json']);
  expect(await sync.ended(), sync.output).toBe(0);
  await other.kill('SIGKILL');
  await allKnown(store, projects);
  await last.kill('SIGTERM');
  expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(limit);
  expect((await tombstoned(store)).filter((id) => !deleted.has(id))).toEqual([]);
  const [counted] = await store.rows('select sum(requests) as requests from sync_passes');
  process.stderr.write(`  ${deaths} kills, ${analytics().length} requests, ${counted?.requests} counted\n`);
  // One a kill, the last three too, and one of each worker that the store's crash interrupted.
  expect(analytics().length).toBeLessThanOrEqual(Number(counted?.requests) + deaths + 3 + 2 * restarts);
}
