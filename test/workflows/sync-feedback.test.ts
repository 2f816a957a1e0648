import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { FetchPagesInput, FetchPagesResult } from '../../src/activities/feedback-pages.ts';
import type { Activities } from '../../src/activities/index.ts';
import { permitsFreedSignal } from '../../src/contract.ts';
import { noEntries } from '../../src/feedback/rules/feedback-entry.ts';
import type { SyncInput } from '../../src/feedback/rules/sync.ts';
import { startOrJoinSync, startSync, syncState } from '../../src/operations/syncs.ts';
import { syncWorkflowId } from '../../src/rules/workflow-ids.ts';
import { endOf } from '../tools/temporal/end-of.ts';
import { lateRefusal } from '../tools/temporal/late-refusal.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

let projects = 0;
const input = (): SyncInput => {
  projects += 1;
  return { org: 'acme', project: `prj_${projects}`, pass: 'sweep', failover: 'tolerant' };
};

/** A leg of the pass: totals so far and what the activity itself did. */
const leg = (more: Partial<FetchPagesResult>): FetchPagesResult => ({
  outcome: 'more',
  pages: 0,
  entries: noEntries,
  requests: 0,
  throttled: 0,
  tries: 0,
  waiting: null,
  forecast: null,
  ...more,
});

type Finish = Parameters<Activities['finishPass']>[0];

/** Activities that answer with the given legs and note how the pass was closed. */
function passActivities(legs: (call: number, input: FetchPagesInput) => Promise<FetchPagesResult> | FetchPagesResult) {
  const finished: Finish[] = [];
  let calls = 0;
  const activities: Partial<Activities> = {
    beginPass: async () => ({ storeId: 'store-1' }),
    fetchPages: async (input) => legs(calls++, input),
    finishPass: async (result) => {
      finished.push(result);
      const { pages, requests, throttled, entries } = result;
      return {
        watermark: '2026-11-20T00:00:00.000Z',
        verifiedUpTo: null,
        pages,
        requests,
        throttled,
        entries,
        webhooks: [],
      };
    },
  };
  return { activities, finished, calls: () => calls };
}

describe('syncFeedback', () => {
  it('reads lease after lease and returns the counts of the whole pass', async () => {
    const entries = { ...noEntries, seen: 1_500, inserted: 1_500 };
    const { activities, finished } = passActivities((call) =>
      call === 0 ? leg({ pages: 10, requests: 10 }) : leg({ outcome: 'complete', pages: 15, requests: 16, entries }),
    );
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await startSync(env.client, taskQueue, input());
      expect(await handle.result()).toMatchObject({
        pass: 'sweep',
        pages: 15,
        requests: 16,
        throttled: 0,
        entries,
        watermark: '2026-11-20T00:00:00.000Z',
      });
    });
    expect(finished).toMatchObject([{ outcome: 'completed', error: null, storeId: 'store-1' }]);
  });

  it('sits out an hour of waiting for the budget on a durable timer and shows until when', async () => {
    const until = (await env.currentTimeMs()) + 3_600_000;
    const waiting = { until, place: 2, behind: ['sync:acme:other:sweep'], reason: 'window-full' as const };
    const { activities } = passActivities((call) =>
      call === 0 ? leg({ outcome: 'waiting', waiting }) : leg({ outcome: 'complete', pages: 1, requests: 1 }),
    );
    await withWorker(env, activities, async ({ taskQueue }) => {
      const sync = input();
      const handle = await startSync(env.client, taskQueue, sync);
      await expect.poll(() => syncState(env.client, sync)).toMatchObject({ phase: 'waiting-for-budget', waiting });
      const result = await handle.result();
      expect(result.waitedMs).toBeGreaterThan(3_500_000);
      expect(result.pages).toBe(1);
    });
  });

  it('asks again at once when the budget says that permits came back', async () => {
    const { activities, calls } = passActivities(async (call) => {
      if (call > 0) return leg({ outcome: 'complete' });
      return leg({
        outcome: 'waiting',
        waiting: { until: (await env.currentTimeMs()) + 86_400_000, place: 1, behind: [], reason: 'window-full' },
      });
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const sync = input();
      const handle = await startSync(env.client, taskQueue, sync);
      await expect.poll(() => syncState(env.client, sync)).toMatchObject({ phase: 'waiting-for-budget' });
      await handle.signal(permitsFreedSignal);
      expect((await handle.result()).waitedMs).toBeLessThan(86_000_000);
      expect(calls()).toBe(2);
    });
  });

  it('hears a wake-up that overtakes the answer that says to wait (B2)', async () => {
    const sync = input();
    const { activities, calls } = passActivities(async (call) => {
      if (call > 0) return leg({ outcome: 'complete' });
      await env.client.workflow.getHandle(syncWorkflowId(sync.org, sync.project, sync.pass)).signal(permitsFreedSignal);
      const until = (await env.currentTimeMs()) + 86_400_000;
      return leg({ outcome: 'waiting', waiting: { until, place: 1, behind: [], reason: 'window-full' } });
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await startSync(env.client, taskQueue, sync);
      expect((await handle.result()).waitedMs).toBeLessThan(86_000_000);
      expect(calls()).toBe(2);
    });
  });

  it('records a failed pass with the failure type, and fails with it', async () => {
    const { activities, finished } = passActivities((call) => {
      if (call === 0) return leg({ pages: 3, requests: 3 });
      throw ApplicationFailure.nonRetryable('page 4 of project prj cannot be read: no cursor', 'BadPage');
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await startSync(env.client, taskQueue, input());
      await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'BadPage' } } });
      expect(await endOf(handle)).toMatchObject({
        phase: ['done'],
        outcome: ['failed'],
        details: expect.stringContaining('| reason | BadPage: page 4'),
      });
    });
    expect(finished).toMatchObject([{ outcome: 'failed', pages: 3, error: expect.stringMatching(/^BadPage: page 4/) }]);
  });

  it('records a cancelled pass', async () => {
    const { activities, finished } = passActivities(async () =>
      leg({
        outcome: 'waiting',
        waiting: { until: (await env.currentTimeMs()) + 86_400_000, place: 1, behind: [], reason: 'window-full' },
      }),
    );
    await withWorker(env, activities, async ({ taskQueue }) => {
      const sync = input();
      const handle = await startSync(env.client, taskQueue, sync);
      await expect.poll(() => syncState(env.client, sync)).toMatchObject({ phase: 'waiting-for-budget' });
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow();
      const { details, ...attributes } = await endOf(handle);
      expect(attributes).toEqual({ phase: ['done'], outcome: ['cancelled'] });
      expect(details).not.toContain('waiting until');
    });
    expect(finished).toMatchObject([{ outcome: 'cancelled' }]);
  });

  it('is joined by a second request for the same pass', async () => {
    const { activities, calls } = passActivities(async (call) =>
      call === 0
        ? leg({
            outcome: 'waiting',
            waiting: { until: (await env.currentTimeMs()) + 60_000, place: 1, behind: [], reason: 'window-full' },
          })
        : leg({ outcome: 'complete', pages: 1, requests: 1 }),
    );
    await withWorker(env, activities, async ({ taskQueue }) => {
      const sync = input();
      const [first, second] = [
        await startSync(env.client, taskQueue, sync),
        await startSync(env.client, taskQueue, sync),
      ];
      expect(second.workflowId).toBe(first.workflowId);
      expect(await second.result()).toEqual(await first.result());
      expect(calls()).toBe(2);
    });
  });

  it('is not joined when it ends at that moment: another pass starts, and is told as started', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { activities } = passActivities(async () => {
      await released;
      return leg({ outcome: 'complete' });
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const pass = input();
      const first = await startOrJoinSync(env.client, taskQueue, pass);
      expect(await startOrJoinSync(env.client, taskQueue, pass)).toMatchObject({ joined: true, runId: null });
      const client = lateRefusal(env.client, async () => {
        release();
        await first.handle.result();
      });
      const second = await startOrJoinSync(client, taskQueue, pass);
      expect(second).toMatchObject({ joined: false, runId: expect.any(String) });
      expect(second.runId).not.toBe(first.runId);
      expect((await second.handle.result()).runId).toBe(second.runId);
    });
  });

  it('that is cancelled during the last leg of a run is not continued by another', async () => {
    const pass = input();
    const handle = env.client.workflow.getHandle(syncWorkflowId(pass.org, pass.project, pass.pass));
    const length = async () => (await handle.describe()).historyLength;
    const { activities, finished } = passActivities(async (call) => {
      // The answer makes this run too long.
      if (call >= 480 && (await length()) >= 2_994) {
        await handle.cancel();
        // Long enough for the workflow to hear of it.
        await sleep(1_000);
      }
      return leg({ pages: call + 1, outcome: call > 600 ? 'complete' : 'more' });
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle } = await startOrJoinSync(env.client, taskQueue, pass);
      await expect(handle.result()).rejects.toMatchObject({ cause: expect.any(CancelledFailure) });
    });
    expect(finished).toMatchObject([{ outcome: 'cancelled' }]);
  });

  it('continues as new when its history grows long, and keeps counting, also what a page has cost', async () => {
    const legs = 520;
    const tries: number[] = [];
    const { activities, finished } = passActivities((call, input) => {
      tries.push(input.tries);
      return leg({ outcome: call === legs - 1 ? 'complete' : 'more', pages: call + 1, requests: call + 1, tries: 1 });
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { handle, runId } = await startOrJoinSync(env.client, taskQueue, input());
      const result = await handle.result();
      expect(result.requests).toBe(legs);
      expect(result.runId).not.toBe(runId);
    });
    expect(finished).toHaveLength(1);
    expect(finished[0]).not.toHaveProperty('tries');
    expect(tries).toEqual([0, ...Array<number>(legs - 1).fill(1)]);
  });
});
