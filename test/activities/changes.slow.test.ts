import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type StatusEntry, statusChanges } from '../../bench/status/status-changes.ts';
import { type ActivityScene, activityScene } from '../tools/activity-dependencies.ts';
import { compareWithTruth } from '../tools/feedback/feedback-truth.ts';
import { hourMs, refresh, refreshScene } from '../tools/feedback/refresh-run.ts';
import { runPass } from '../tools/feedback/sync-pass.ts';

/*
 * bench/README.md "changes": 25,000 entries over 400 days; 250 changes of status among the last 30 days' entries (open to
 * closed, closed to open, open to open) and 10 anywhere, 200 new entries.
 */

let scene: ActivityScene;
afterEach(async () => {
  vi.useRealTimers();
  await scene?.end();
});

function change(): number {
  const changes = statusChanges([...scene.sandbox.truth('prj_1')] as StatusEntry[], Date.now());
  scene.sandbox.changeEntries('prj_1', changes);
  scene.sandbox.addEntries('prj_1', { count: 200 });
  return changes.length;
}

describe('what a review and an incremental pass see, and what they cost', () => {
  it.each([
    { openShare: 0.03, most: 45 },
    { openShare: 0.6, most: 250 },
  ])(
    'of entries $openShare of which are open: all, for at most $most requests',
    async ({ openShare, most }) => {
      const window = { requests: 10_000, reserve: 0, windowMs: 60_000, arrivalMs: 500 };
      scene = await activityScene({ requests: 1_000_000, entries: 25_000, days: 400, openShare }, window);
      const first = await runPass(scene, 'sweep');
      // The pages, and one request to prove that none of them shifted.
      expect(first).toMatchObject({ pages: 250, requests: 251, entries: { inserted: 25_000 } });
      expect(first.verifiedUpTo).not.toBeNull();
      expect(change()).toBe(260);

      const incremental = await runPass(scene, 'incremental');
      expect(incremental.entries.inserted).toBe(200);
      const review = await runPass(scene, 'review');
      expect(compareWithTruth(scene)).toEqual({ entries: 25_200, missing: 0, different: 0, surplus: 0, unrejected: 0 });
      expect(review.entries.updated + incremental.entries.updated).toBe(260);
      const requests = incremental.requests + review.requests;
      process.stdout.write(
        `${openShare * 100} % open: ${incremental.requests} + ${review.requests} = ${requests} requests for 260 changes ` +
          'and 200 new entries; everything takes 252\n',
      );
      expect(requests).toBeLessThanOrEqual(most);
    },
    300_000,
  );
});

describe('what refresh finds', () => {
  it('is at least 240 of 260 changes and all new entries after 45 requests at its pace, when 3 % are open', async () => {
    const world = { requests: 1_000_000, entries: 25_000, days: 400, openShare: 0.03 };
    scene = await refreshScene(world, {
      share: 0.45,
      settings: { requests: 100, reserve: 0, windowMs: hourMs, arrivalMs: 500 },
    });
    const log = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics').length;
    const compared = () => compareWithTruth(scene);
    const later = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });
    // The first reading takes all that is left of each hour.
    for (let run = 0; run < 60 && (run < 5 || compared().missing > 0); run += 1) {
      await refresh(scene);
      later(hourMs / 12);
    }
    expect(compared()).toMatchObject({ missing: 0, different: 0 });
    later(hourMs);
    await refresh(scene);
    expect(change()).toBe(260);
    const before = log();
    for (let run = 0; run < 40 && log() - before < 43; run += 1) {
      later(hourMs / 12);
      await refresh(scene);
    }
    const { missing, different } = compared();
    process.stdout.write(
      `refresh: ${log() - before} requests, ${260 - different} of 260 changes, ${200 - missing} of 200 new\n`,
    );
    expect(log() - before).toBeLessThanOrEqual(45);
    expect(260 - different).toBeGreaterThanOrEqual(240);
    expect(missing).toBe(0);
  }, 600_000);

  it('is all that changed in five projects, whatever it was, and never more than the limit in any window', async () => {
    const projects = ['a', 'b', 'c', 'd', 'e'];
    const windowMs = 20_000;
    const settings = { requests: 20, reserve: 0, windowMs, arrivalMs: 500 };
    const organization = { id: 'acme', projects: projects.map((id) => ({ id, entries: 250 })), domains: [] };
    const world = { requests: 20, windowMs, organizations: [organization] };
    scene = await refreshScene(world, { share: 0.9, everyMs: 1_000, projects, settings });
    const compared = () => projects.map((project) => compareWithTruth(scene, project));
    const isSame = () =>
      compared().every((found) => found.missing + found.different + found.surplus + found.unrejected === 0);
    const refreshed = async () => {
      for (let run = 0; run < 600 && !isSame(); run += 1) {
        await refresh(scene);
        await sleep(500);
      }
      expect(compared()).toMatchObject(projects.map(() => ({ missing: 0, different: 0, surplus: 0, unrejected: 0 })));
    };
    await refreshed();
    for (const project of projects) {
      const all = [...scene.sandbox.truth(project)] as { id: string }[];
      const id = (place: number) => all[place]?.id ?? '';
      scene.sandbox.addEntries(project, { count: 3 });
      scene.sandbox.changeEntries(project, [
        { id: id(3), status: 'resolved' },
        { id: id(60), status: 'pending' },
        { id: id(120), fields: { comment: 'edited in silence' } },
      ]);
      scene.sandbox.deleteEntries(project, [id(180), id(240)]);
    }
    await refreshed();
    expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(20);
    expect(scene.sandbox.log().filter(({ status }) => status === 429)).toEqual([]);
  }, 900_000);
});
