import { afterEach, describe, expect, it } from 'vitest';
import { type StatusEntry, statusChanges } from '../../bench/status/status-changes.ts';
import { type ActivityScene, activityScene } from '../tools/activity-dependencies.ts';
import { compareWithTruth } from '../tools/feedback/feedback-truth.ts';
import { runPass } from '../tools/feedback/sync-pass.ts';

/*
 * bench/README.md "changes": 25,000 entries over 400 days; 250 changes of status among the last 30 days' entries (open to
 * closed, closed to open, open to open) and 10 anywhere, 200 new entries.
 */

let scene: ActivityScene;
afterEach(async () => {
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
