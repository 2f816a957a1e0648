import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Database } from '../../src/sqlite.ts';
import { compareWithTruth, type Differences } from '../tools/feedback/feedback-truth.ts';
import { ChaosScene } from './chaos-scene.ts';

/**
 * The refresh with workers that are killed -9 before and after each of their commits, beside a second worker, with passes
 * on demand in between: nothing is lost, nothing tombstoned that is there, at most one page is asked for again a kill
 * (B1, S2, S4).
 */

const limit = 20;
const projects = ['prj_1', 'prj_2'];
/** So many workers die, each two steps later than the one before: before its next commit, or after it. */
const deaths = 10;
let scene: ChaosScene;

afterEach(() => scene.end());

const analytics = () => scene.sandbox.log().filter((entry) => entry.kind === 'analytics');
const files = () => ({ folder: join(scene.folder, 'data'), sandbox: scene.sandbox });
const isSame = ({ missing, different, surplus, unrejected }: Differences) =>
  missing + different + surplus + unrejected === 0;

function rows(sql: string): Record<string, unknown>[] {
  const db = new Database(join(scene.folder, 'data/feedback.db'), { readOnly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

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

const tombstoned = () =>
  rows("select distinct id from feedback_changes where field = 'deleted_at' and new is not null").map(
    ({ id }) => `${id}`,
  );

/** Once all of these projects are as the service has them. */
const allKnown = (all: readonly string[]) =>
  expect
    .poll(() => all.map((project) => isSame(compareWithTruth(files(), project))), { timeout: 400_000, interval: 1_000 })
    .toEqual(all.map(() => true));

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
    await allKnown(five);
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
    await allKnown(five);
    const found = [performance.now() - planted[0], analytics().length - planted[1]] as const;
    expect(tombstoned().sort()).toEqual([...deleted].sort());
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

  it('loses and tombstones nothing when its workers are killed at every step of a run', async () => {
    const organization = { id: 'acme', projects: projects.map((id) => ({ id, entries: 250 })), domains: [] };
    scene = await ChaosScene.begin({
      sandbox: { requests: limit, windowMs: 5_000, organizations: [organization] },
      budget: `{ requests: ${limit}, window: 5s, arrival: 1s }`,
      projects,
      organization: '    refresh: { every: 1s, share: 90% }',
    });
    await scene.orphanedServer();
    const preload = resolve('test/chaos/kill-at-commit.mjs');
    const deleted = new Set<string>();
    for (let step = 1; step <= deaths; step += 1) {
      const worker = scene.start(['worker'], {
        NODE_OPTIONS: `--import ${preload}`,
        KILL_AT: `${2 * step + (step % 2)}`,
      });
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
      }
      // Also of a pass that a person asks for, and of the server.
      const asked = step % 3 === 0 ? scene.start(['feedback', 'sync', 'prj_2', '--pass', 'sweep', '--json']) : null;
      await worker.ended();
      expect(worker.child.signalCode, worker.output).toBe('SIGKILL');
      await asked?.ended();
      if (step === deaths / 2) await scene.restartServer();
    }
    // Two at once, and a person's pass.
    const pair = [await scene.worker(), await scene.worker()];
    const sync = scene.start(['feedback', 'sync', 'prj_1', '--pass', 'incremental', '--wait', '--json']);
    expect(await sync.ended(), sync.output).toBe(0);
    await pair[0]?.kill('SIGKILL');
    await allKnown(projects);
    await pair[1]?.kill('SIGTERM');
    expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(limit);
    expect(tombstoned().filter((id) => !deleted.has(id))).toEqual([]);
    const [counted] = rows('select sum(requests) as requests from sync_passes');
    process.stderr.write(`  ${deaths} kills, ${analytics().length} requests, ${counted?.requests} counted\n`);
    expect(analytics().length).toBeLessThanOrEqual(Number(counted?.requests) + deaths + 1);
  }, 1_800_000);
});
