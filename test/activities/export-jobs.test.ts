import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJobActivities, createRolloutActivities } from '../../src/activities/export-steps.ts';
import { createPassActivities } from '../../src/activities/feedback-passes.ts';
import { whileMine } from '../../src/activities/heartbeats.ts';
import { NotReady } from '../../src/service/errors.ts';
import {
  type ActivityScene,
  activityScene,
  afterFailures,
  failureOf,
  mockActivity,
} from '../tools/activity-dependencies.ts';

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
    const feedback = Object.assign(Object.create(scene.deps.feedback), { jobDurations });
    const { planExport } = createJobActivities({ ...scene.deps, feedback });
    const plan = await new MockActivityEnvironment().run(planExport, site);
    expect(plan).toMatchObject({ usualJobsMs: [], jobTimeoutMs: 60_000 });
  });
});

describe('startJob', () => {
  it('tells the workflow that its worker shut down during the request', async () => {
    const env = new MockActivityEnvironment();
    const service = {
      startExportJob: (_request: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          env.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true }));
        }),
    };
    const organizations = scene.deps.organizations.map((organization) => ({
      ...organization,
      service: Object.assign(Object.create(organization.service), service),
    }));
    const { startJob } = createJobActivities({ ...scene.deps, organizations });
    await expect(env.run(startJob, { ...site, parameters: {} })).rejects.toMatchObject({
      type: 'WorkerShutdown',
      nonRetryable: true,
    });
  });
});

describe('startJob whose heartbeat Temporal refuses', () => {
  it('has sent nothing, and is tried again', async () => {
    const recordHeartbeat = () => Promise.reject(new Error('16 UNAUTHENTICATED'));
    const { startJob } = createJobActivities(whileMine({ ...scene.deps, recordHeartbeat }));
    await expect(mockActivity().run(() => startJob({ ...site, parameters: {} }))).rejects.toMatchObject({
      type: 'HeartbeatRefused',
      nonRetryable: false,
    });
    expect(scene.sandbox.log()).toEqual([]);
  });
});

describe('startJob when another job is in the way', () => {
  it('is retried by Temporal: a 409 has started nothing', async () => {
    const service = { startExportJob: () => Promise.reject(new NotReady('not ready (409)', null)) };
    const organizations = scene.deps.organizations.map((organization) => ({
      ...organization,
      service: Object.assign(Object.create(organization.service), service),
    }));
    const { startJob } = createJobActivities({ ...scene.deps, organizations });
    await expect(new MockActivityEnvironment().run(startJob, { ...site, parameters: {} })).rejects.toMatchObject({
      type: 'NotReady',
      nonRetryable: false,
    });
  });
});

describe('what a worker lacks in its configuration', () => {
  const failureAt = (attempt: number, step: () => Promise<unknown>) =>
    failureOf(mockActivity({ attempt: attempt + 40, ...afterFailures('unconfigured', attempt - 1) }).run(step));
  const pass = { project: 'prj_9', pass: 'incremental', passId: 'p1', startedAt: 0 } as const;

  it.each<[string, (storeId: string) => Promise<unknown>]>([
    ['UnknownSite', () => createJobActivities(scene.deps).planExport({ org: 'acme', domain: 'new.example' })],
    ['InvalidInput', () => createJobActivities(scene.deps).readJob({ org: 'new', jobId: 'job-1' })],
    [
      'InvalidInput',
      () => createJobActivities(scene.deps).startJob({ org: 'new', domain: 'new.example', parameters: {} }),
    ],
    [
      'InvalidInput',
      (storeId) =>
        createRolloutActivities(scene.deps).rollOut({
          ...site,
          storeId,
          version: 'v1',
          previous: null,
          target: 'new',
          step: 'place',
          force: false,
        }),
    ],
    ['UnknownProject', () => createPassActivities(scene.deps).beginPass({ org: 'acme', ...pass })],
  ])('is left to other workers for five minutes, whatever failed before, then the failure: %s', async (type, step) => {
    const { identity } = scene.deps.bundles;
    for (const attempt of [1, 30]) {
      const failure = await failureAt(attempt, () => step(identity));
      expect(failure).toMatchObject({ type, nonRetryable: false, nextRetryDelay: 10_000 });
      // No run is recorded as refused that may still begin (X4).
      expect(await scene.deps.feedback.listPasses({ project: 'prj_9' })).toEqual([]);
    }
    expect(await failureAt(31, () => step(identity))).toMatchObject({ type, nonRetryable: true });
    expect(await scene.deps.feedback.listPasses({ project: 'prj_9' })).toHaveLength(type === 'UnknownProject' ? 1 : 0);
  });
});
