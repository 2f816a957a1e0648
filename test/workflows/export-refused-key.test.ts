import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { retryKeySignal } from '../../src/contract.ts';
import { versionName } from '../../src/exports/rules/site-export.ts';
import { exportState } from '../../src/operations/exports.ts';
import { bundle, digest, exportActivities, exportStarter, input } from '../tools/temporal/export-activities.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

const start = exportStarter(env);

describe('an export whose key is refused', () => {
  it('sits out a refused key in one clear state, at the step that was refused, and starts one job only', async () => {
    let refusals = 0;
    const refuse = () => {
      refusals += 1;
      throw ApplicationFailure.nonRetryable('the service does not accept the API key (401)', 'Unauthorized');
    };
    const { activities, calls } = exportActivities({
      startJob: async () => (refusals < 3 ? refuse() : { jobId: 'job-1' }),
      fetchBundle: async () => (refusals < 4 ? refuse() : bundle),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const startedAt = await env.currentTimeMs();
      const handle = await start(taskQueue, request);
      await expect
        .poll(() => exportState(env.client, request.org, request.domain))
        .toMatchObject({ phase: 'starting', unauthorized: { since: expect.any(Number) } });
      expect(await handle.result()).toMatchObject({ outcome: 'published', jobsStarted: 1 });
      // A minute, two and four before the job is started, a minute before the bundle is fetched.
      expect((await env.currentTimeMs()) - startedAt).toBeGreaterThan(8 * 60_000 - 5_000);
      expect(await exportState(env.client, request.org, request.domain)).toMatchObject({ unauthorized: null });
    });
    expect(calls.startJob).toHaveLength(4);
  });

  it('continues as new while a key is refused for weeks, and starts one job only', async () => {
    const refusals = 300;
    let tries = 0;
    const { activities } = exportActivities({
      startJob: async () => {
        tries += 1;
        if (tries <= refusals) throw ApplicationFailure.nonRetryable('401', 'Unauthorized');
        return { jobId: 'job-1' };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const startedAt = await env.currentTimeMs();
      const handle = await start(taskQueue, input());
      const { runId } = await handle.describe();
      const result = await handle.result();
      expect(result).toMatchObject({ outcome: 'published', jobsStarted: 1 });
      expect(result.runId).not.toBe(runId);
      // The intervals go on where they were: only the first tries are closer together than 15 minutes.
      expect((await env.currentTimeMs()) - startedAt).toBeGreaterThan((refusals - 4) * 15 * 60_000);
    });
  });

  it('keeps name and duration while the key is refused for weeks at the bundle', async () => {
    let tries = 0;
    const { activities, calls } = exportActivities({
      fetchBundle: async () => {
        tries += 1;
        if (tries <= 300) throw ApplicationFailure.nonRetryable('401', 'Unauthorized');
        return { ...bundle, published: { url: 'http://bundles.example/new', heldAt: null } };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, input());
      const { runId } = await handle.describe();
      const result = await handle.result();
      expect(result.runId).not.toBe(runId);
      const names = new Set(calls.fetchBundle?.map(({ publish }) => versionName(publish?.namedAt ?? 0, digest)));
      expect([...names]).toEqual([result.version]);
    });
    const [row] = calls.recordExportRun ?? [];
    expect(row?.jobMs).toBeLessThan(3_600_000);
  });

  it('tries a refused key at once when told that it may have been changed', async () => {
    let works = false;
    const { activities } = exportActivities({
      startJob: async () => {
        if (!works) throw ApplicationFailure.nonRetryable('401', 'Unauthorized');
        return { jobId: 'job-1' };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      await expect
        .poll(() => exportState(env.client, request.org, request.domain))
        .toMatchObject({ unauthorized: { since: expect.any(Number) } });
      works = true;
      await handle.signal(retryKeySignal);
      expect(await handle.result()).toMatchObject({ outcome: 'published' });
    });
  });
});
