import { join, resolve } from 'node:path';
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

describe('the refresh', () => {
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
      await worker.ended();
      expect(worker.child.signalCode, worker.output).toBe('SIGKILL');
    }
    // Two at once, and a person's pass.
    const pair = [await scene.worker(), await scene.worker()];
    const sync = scene.start(['feedback', 'sync', 'prj_1', '--pass', 'incremental', '--wait', '--json']);
    expect(await sync.ended(), sync.output).toBe(0);
    await pair[0]?.kill('SIGKILL');
    await expect
      .poll(() => projects.map((project) => isSame(compareWithTruth(files(), project))), {
        timeout: 400_000,
        interval: 1_000,
      })
      .toEqual(projects.map(() => true));
    await pair[1]?.kill('SIGTERM');
    expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(limit);
    const gone = rows("select distinct id from feedback_changes where field = 'deleted_at' and new is not null");
    expect(gone.filter(({ id }) => !deleted.has(`${id}`))).toEqual([]);
    const [counted] = rows('select sum(requests) as requests from sync_passes');
    process.stderr.write(`  ${deaths} kills, ${analytics().length} requests, ${counted?.requests} counted\n`);
    expect(analytics().length).toBeLessThanOrEqual(Number(counted?.requests) + deaths + 1);
  }, 1_800_000);
});
