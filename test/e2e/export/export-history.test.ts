import { afterEach, expect, it } from 'vitest';
import { startExport } from '../../../src/operations/exports.ts';
import { type Scene, setScene } from '../../tools/scene.ts';
import { eventCounts } from '../../tools/temporal/event-counts.ts';

let scene: Scene;
afterEach(() => scene?.end());

/** Events of a poll: a timer, an activity, and a workflow task after each. */
const eventsOfPoll = 11;

/** Runs an export; its events as if it had been polled three times, since polls depend on the clock. */
async function exportOnce() {
  const request = { org: scene.org, domain: scene.domain, parameters: {} };
  const { handle } = await startExport(scene.client, scene.taskQueue, request, 'refuse');
  const { outcome, polls, rollouts } = await handle.result();
  const { counts, total } = await eventCounts(handle);
  expect(polls).toBeGreaterThan(0);
  return { outcome, rollouts, events: total + (3 - polls) * eventsOfPoll, counts };
}

it('leaves at most 70 events when it publishes and 55 when nothing has changed, with three polls and one target', async () => {
  scene = await setScene({ sandbox: { jobSeconds: 5, pages: 5 } });
  await scene.startWorker();
  const published = await exportOnce();
  expect(published).toMatchObject({ outcome: 'published', rollouts: [{ outcome: 'rolled-out' }] });
  expect(published.events, JSON.stringify(published.counts)).toBeLessThanOrEqual(70);
  const unchanged = await exportOnce();
  expect(unchanged).toMatchObject({ outcome: 'unchanged', rollouts: [{ outcome: 'already-current' }] });
  expect(unchanged.events, JSON.stringify(unchanged.counts)).toBeLessThanOrEqual(55);
});
