import { afterEach, describe, expect, it } from 'vitest';
import { type ScheduledRun, scheduleViews } from '../../src/schedules/schedule-views.ts';
import { applySchedules } from '../../src/schedules/schedules.ts';
import { type Scene, type SceneOptions, setScene } from '../tools/scene.ts';
import { devServerEnvironment } from '../tools/temporal/temporal.ts';
import { replayChains } from '../tools/temporal/workflow-run.ts';

let scene: Scene;
afterEach(async () => {
  if (!scene) return;
  await applySchedules(scene.client, scene.taskQueue, [], 'fast');
  await scene.end();
});

async function begin(options: SceneOptions): Promise<Scene> {
  scene = await setScene(options);
  await scene.startWorker();
  return scene;
}

const apply = () => applySchedules(scene.client, scene.taskQueue, scene.config.organizations, 'fast');

/** Runs of the scene's only schedule that have ended, the first one first. */
async function ended(): Promise<ScheduledRun[]> {
  const { schedules } = await scheduleViews(scene.client, scene.taskQueue, scene.config.organizations, 'fast');
  expect(schedules).toHaveLength(1);
  return (schedules[0]?.last ?? [])
    .filter(({ outcome, scheduledAt }) => outcome !== null && scheduledAt !== null)
    .reverse();
}

describe('schedules start the work by themselves', () => {
  it('exports: published the first time, unchanged the second, and nothing any more once removed', async () => {
    await begin({ sandbox: { jobSeconds: 0.5, pages: 5 }, schedule: '{ every: 2s }' });
    expect((await apply()).create).toHaveLength(1);
    await expect.poll(async () => (await ended()).length, { interval: 500 }).toBeGreaterThanOrEqual(2);
    const [first, second] = await ended();
    expect([first?.outcome, second?.outcome]).toEqual(['published', 'unchanged']);
    expect(first?.detail).toMatch(/^\d{8}T\d{6}Z-[0-9a-f]{12}$/);
    expect(second?.detail).toBe(first?.detail);
    const env = await devServerEnvironment();
    const handle = scene.client.workflow.getHandle(`${first?.workflowId}`);
    await replayChains(env, [{ workflowId: handle.workflowId, runId: (await handle.describe()).runId }]);

    const removed = await applySchedules(scene.client, scene.taskQueue, [], 'fast');
    expect(removed.delete).toHaveLength(1);
    const { schedules } = await scheduleViews(scene.client, scene.taskQueue, scene.config.organizations, 'fast');
    expect(schedules).toEqual([]);
  });

  it('shows the failure of the work', async () => {
    await begin({ sandbox: { pages: 5 }, job: '{ timeout: 5m, attempts: 1 }', schedule: '{ every: 2s }' });
    scene.sandbox.setFaults({ failJobs: 1_000 });
    await apply();
    await expect.poll(async () => (await ended()).length, { interval: 500 }).toBeGreaterThanOrEqual(1);
    const [first] = await ended();
    expect(first).toMatchObject({ outcome: 'failed', status: 'FAILED', detail: expect.stringMatching(/^JobFailed: /) });
  });
});
