import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ActivityScene } from '../tools/activity-dependencies.ts';
import { compareWithTruth } from '../tools/feedback/feedback-truth.ts';
import { hourMs, refresh, refreshScene } from '../tools/feedback/refresh-run.ts';

let scene: ActivityScene;
afterEach(async () => {
  vi.useRealTimers();
  await scene?.end();
});

/** Time passes by Temporal's clock and the service's; the store and the lease see it too. */
function later(ms: number): void {
  const now = Date.now() + ms;
  vi.useFakeTimers({ toFake: ['Date'], now });
}

const analytics = () => scene.sandbox.log().filter((entry) => entry.kind === 'analytics');

describe('refreshPages', () => {
  it('reads a project for the first time with all that is left, then keeps to its share', async () => {
    scene = await refreshScene({ entries: 1_000, requests: 100_000 });
    const first = await refresh(scene);
    expect(first).toMatchObject({
      entries: { inserted: 1_000 },
      projects: [{ project: 'prj_1', inserted: 1_000 }],
      webhooks: ['chat'],
    });
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0, surplus: 0 });
    const spent = analytics().length;
    later(hourMs / 2);
    await refresh(scene);
    expect(analytics().length - spent).toBeLessThanOrEqual(25);
  });
});

describe('what cannot be read', () => {
  it('leaves a project that the service does not know to its problem, and reads the others', async () => {
    scene = await refreshScene({ entries: 150 }, { projects: ['prj_1', 'renamed'] });
    const result = await refresh(scene);
    expect(result.projects).toContainEqual(
      expect.objectContaining({ project: 'renamed', problem: expect.stringContaining('NotFound') }),
    );
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0 });
    // It is left alone for a while.
    const spent = analytics().length;
    later(60_000);
    expect((await refresh(scene)).projects).toEqual([]);
    expect(analytics().length - spent).toBeLessThan(3);
  });

  it('goes on behind a page that cannot be read', async () => {
    scene = await refreshScene(
      { entries: 300, organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }, { id: 'prj_2' }], domains: [] }] },
      { projects: ['prj_1', 'prj_2'] },
    );
    scene.sandbox.setFaults({ badJson: 5 });
    const result = await refresh(scene);
    expect(result.projects).toContainEqual(expect.objectContaining({ problem: expect.stringContaining('BadPage') }));
    later(hourMs);
    for (let run = 0; run < 3; run += 1) await refresh(scene);
    for (const project of ['prj_1', 'prj_2']) expect(compareWithTruth(scene, project)).toMatchObject({ missing: 0 });
  });

  it('asks no more after a 429 or a 401, and says until when', async () => {
    scene = await refreshScene({ entries: 300 });
    scene.sandbox.setFaults({ force429: 1, force429WaitMs: 90_000 });
    expect(await refresh(scene)).toMatchObject({ outcome: 'waiting', requests: 1, throttled: 1 });
    expect(analytics()).toHaveLength(1);
    later(120_000);
    scene.sandbox.setFaults({ unauthorized: true });
    expect(await refresh(scene)).toMatchObject({ outcome: 'waiting', waiting: { reason: 'unauthorized' } });
    expect(analytics()).toHaveLength(2);
  });

  it('has the schedule wait until a request is due', async () => {
    scene = await refreshScene({ entries: 50 }, { share: 0.01 });
    await refresh(scene);
    later(2 * hourMs);
    const { nextDueAt } = await refresh(scene);
    expect(nextDueAt).toBeGreaterThan(Date.now() + hourMs / 2);
    expect(scene.postponed.at(-1)).toBe(Math.min(nextDueAt, Date.now() + hourMs));
  });
});
