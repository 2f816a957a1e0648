import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJobActivities } from '../../src/activities/export-jobs.ts';
import { type ActivityScene, activityScene } from '../tools/activity-dependencies.ts';

let scene: ActivityScene;
beforeAll(async () => {
  scene = await activityScene();
});
afterAll(async () => {
  await scene?.end();
});

const site = { org: 'acme', domain: 'docs.acme.example' };

describe('planExport', () => {
  it.each([
    ['fails', () => Promise.reject(new Error('no connection'))],
    ['does not answer', () => new Promise<never>(() => {})],
  ])('goes without earlier durations when the database %s (E7)', async (_how, jobDurations) => {
    const runs = Object.assign(Object.create(scene.deps.runs), { jobDurations });
    const { planExport } = createJobActivities({ ...scene.deps, runs });
    const plan = await new MockActivityEnvironment().run(planExport, site);
    expect(plan).toMatchObject({ usualJobsMs: [], jobTimeoutMs: 60_000 });
  });
});
