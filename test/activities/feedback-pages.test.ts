import { join } from 'node:path';
import { ActivityCancellationDetails } from '@temporalio/common';
import type { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { SandboxOptions } from '../../sandbox/index.ts';
import { organizationOf } from '../../src/activities/dependencies.ts';
import { createPageActivities, type FetchPagesResult, PageReader } from '../../src/activities/feedback-pages.ts';
import type { WindowSettings } from '../../src/budget/rules/permits.ts';
import { everything, type PlannedSlice } from '../../src/feedback/rules/slice.ts';
import { Database } from '../../src/sqlite.ts';
import { type ActivityScene, activityScene, failureOf, mockActivity } from '../tools/activity-dependencies.ts';

let scene: ActivityScene;
afterEach(async () => {
  await scene?.end();
});

async function begin(
  options: SandboxOptions = {},
  more: { settings?: WindowSettings; slices?: PlannedSlice[]; startedAt?: Date } = {},
): Promise<void> {
  scene = await activityScene(options, more.settings);
  await scene.deps.feedback.beginPass({
    passId: 'pass-1',
    org: 'acme',
    project: 'prj_1',
    pass: 'sweep',
    workflowId: 'sync:acme:prj_1:sweep',
    runId: 'run-1',
    dateFrom: null,
    dateTo: null,
    startedAt: more.startedAt ?? new Date(),
    ...(more.slices ? { slices: more.slices } : {}),
  });
}

let attempts = 0;

/** Runs the activity once, as one attempt of its own. */
async function fetchPages(
  more: { tries?: number; storeId?: string; env?: MockActivityEnvironment } = {},
): Promise<FetchPagesResult> {
  attempts += 1;
  const env = more.env ?? mockActivity({ currentAttemptScheduledTimestampMs: attempts });
  const input = {
    org: 'acme',
    project: 'prj_1',
    class: 'sweep' as const,
    passId: 'pass-1',
    storeId: more.storeId ?? scene.deps.feedback.identity,
    tries: more.tries ?? 0,
  };
  return env.run(() => createPageActivities(scene.deps).fetchPages(input));
}

const analytics = () => scene.sandbox.log().filter((entry) => entry.kind === 'analytics');
describe('fetchPages', () => {
  it('uses one lease and gives back what it does not need', async () => {
    await begin({ entries: 250 });
    const result = await fetchPages();
    expect(result).toMatchObject({ outcome: 'complete', pages: 3, requests: 3, entries: { seen: 250, inserted: 250 } });
    expect(scene.asks).toHaveLength(1);
    expect(scene.window()).toMatchObject({ used: 3, available: 97, holders: [] });
  });

  it('stops at the end of its lease and goes on from the committed position with the next one', async () => {
    await begin({ entries: 2_500 });
    expect(await fetchPages()).toMatchObject({ outcome: 'more', pages: 10, requests: 10 });
    expect(await fetchPages()).toMatchObject({ outcome: 'more', pages: 20, requests: 20 });
    // One request more proves that no page has shifted.
    expect(await fetchPages()).toMatchObject({
      outcome: 'complete',
      pages: 25,
      requests: 26,
      entries: { seen: 2_500 },
    });
    expect(analytics()).toHaveLength(26);
  });

  it('asks for nothing when the pass is complete already', async () => {
    await begin({ entries: 50 });
    await fetchPages();
    expect(await fetchPages()).toMatchObject({ outcome: 'complete', requests: 1 });
    expect(analytics()).toHaveLength(1);
  });

  it('says until when it has to wait, and sends nothing, when the window is full', async () => {
    await begin({ entries: 500 }, { settings: { requests: 2, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 } });
    await fetchPages();
    await fetchPages();
    const result = await fetchPages();
    expect(result).toMatchObject({ outcome: 'waiting', pages: 2, requests: 2, waiting: { place: 1 } });
    expect(result.waiting?.until).toBeGreaterThan(Date.now() + 3_500_000);
    expect(analytics()).toHaveLength(2);
  });

  it('waits after a 429, for the organization, as long as the service says', async () => {
    await begin({ entries: 500 });
    scene.sandbox.setFaults({ force429: 1, force429WaitMs: 90_000 });
    const result = await fetchPages();
    expect(result).toMatchObject({ outcome: 'waiting', requests: 1, throttled: 1 });
    expect(scene.window().pausedUntil).toBeGreaterThan(Date.now() + 80_000);
    expect(analytics()).toHaveLength(1);
  });

  it('tries a failed page once more with a permit of its own, and leaves longer trouble to Temporal', async () => {
    await begin({ entries: 150 });
    scene.sandbox.setFaults({ errors: 1 });
    expect(await fetchPages()).toMatchObject({ outcome: 'complete', pages: 2, requests: 3 });
    await scene.end();
    await begin({ entries: 150 });
    scene.sandbox.setFaults({ errors: 5 });
    expect(await failureOf(fetchPages())).toMatchObject({ type: 'ServerError', nonRetryable: false });
    expect(analytics()).toHaveLength(2);
    expect(scene.window().used).toBe(2);
    expect((await scene.deps.feedback.getPass('pass-1'))?.requests).toBe(2);
  });

  it('occupies the slot of a reset request longer than that of an answered one', async () => {
    await begin({ entries: 50 }, { settings: { requests: 5, reserve: 0, windowMs: 500, arrivalMs: 60_000 } });
    scene.sandbox.setFaults({ resetsAfter: 1 });
    expect(await fetchPages()).toMatchObject({ outcome: 'complete', requests: 2 });
    await expect.poll(() => scene.window().used).toBe(1);
  });

  it.each([
    ['a cursor that repeats', { loopCursor: 2 }, 2],
    ['hasMore without a cursor', { nullCursor: 2 }, 1],
  ])('fails, naming the page, after two wasted requests at most: %s (S3)', async (_what, faults, pagesBefore) => {
    await begin({ entries: 1_000 });
    scene.sandbox.setFaults(faults);
    const error = await failureOf(fetchPages());
    expect(error).toMatchObject({ type: 'BadPage', nonRetryable: true });
    expect(error?.message).toMatch(/^page \d+ of project prj_1 cannot be read: /);
    expect(analytics().length).toBeLessThanOrEqual(pagesBefore + 2);
  });

  it('requests a page that cannot be read again, with a permit of its own, and holds none meanwhile (S3)', async () => {
    await begin({ entries: 150 });
    scene.sandbox.setFaults({ badJson: 1 });
    const { permits } = scene.deps;
    const [ask, report] = [permits.ask.bind(permits), permits.report.bind(permits)];
    const asked: number[] = [];
    const reported: number[] = [];
    vi.spyOn(permits, 'ask').mockImplementation((org, question) => {
      asked.push(performance.now());
      expect(scene.window().holders).toEqual([]);
      return ask(org, question);
    });
    vi.spyOn(permits, 'report').mockImplementation(async (org, result) => {
      await report(org, result);
      reported.push(performance.now());
    });
    expect(await fetchPages()).toMatchObject({ outcome: 'complete', pages: 2, requests: 3, tries: 0 });
    expect(asked).toHaveLength(2);
    // The permit went back before the pause, not after it.
    expect((asked[1] ?? 0) - (reported[0] ?? 0)).toBeGreaterThan(400);
  });

  it('sends nothing in a later attempt while the store takes no writes: the page would be lost, and its permit with it', async () => {
    await begin({ entries: 250 });
    vi.spyOn(scene.deps.feedback, 'countRequests').mockRejectedValue(new Error('the disk is full'));
    const env = mockActivity({ attempt: 2 });
    await expect(fetchPages({ env })).rejects.toThrow('the disk is full');
    expect([analytics(), scene.asks]).toEqual([[], []]);
  });

  it('counts the tries of a broken page from lease to lease, so that they cannot continue for ever (S3)', async () => {
    await begin({ entries: 1_000 }, { settings: { requests: 1, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 } });
    scene.sandbox.setFaults({ badJson: 5 });
    expect(await fetchPages()).toMatchObject({ outcome: 'waiting', pages: 0, requests: 1, tries: 1 });
    await scene.end();
    await begin({ entries: 1_000 });
    scene.sandbox.setFaults({ badJson: 5 });
    const error = await failureOf(fetchPages({ tries: 4 }));
    expect(error).toMatchObject({ type: 'BadPage', nonRetryable: true });
    expect(error?.message).toMatch(/^page 1 of project prj_1 cannot be read: /);
    expect(analytics()).toHaveLength(1);
  });

  it('uses up no try when its worker shuts down while a broken page is given time (S3)', async () => {
    await begin({ entries: 150 });
    scene.sandbox.setFaults({ badJson: 1 });
    const env = mockActivity({ currentAttemptScheduledTimestampMs: 1_000 });
    const shutDown = failureOf(fetchPages({ env }));
    await expect.poll(() => scene.asks.length === 1 && scene.window().holders, { interval: 5 }).toEqual([]);
    env.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true }));
    expect(await shutDown).toMatchObject({ type: 'WorkerShutdown', nonRetryable: false });
    attempts = 2_000;
    expect(await fetchPages()).toMatchObject({ outcome: 'complete', requests: 3, tries: 0 });
  });

  it('notes when entries were seen by the clock of the budget: that of its machine may be ahead (S4)', async () => {
    const aheadMs = 24 * 3_600_000;
    // A single page proves itself.
    await begin({ entries: 90 }, { startedAt: new Date(Date.now() - aheadMs) });
    const { permits, feedback } = scene.deps;
    const shift = (moments: readonly number[], ms: number) => moments.map((moment) => moment + ms);
    scene.deps.permits = {
      async ask(org, question) {
        const answer = await permits.ask(org, question);
        if (answer.kind !== 'granted') return answer;
        const { grantedAt, useBy, notBefore } = answer;
        const moments = { grantedAt: grantedAt - aheadMs, useBy: useBy - aheadMs };
        return { ...answer, ...moments, notBefore: shift(notBefore, -aheadMs) };
      },
      report: (org, result) => permits.report(org, { ...result, arrived: shift(result.arrived, aheadMs) }),
    };
    expect(await fetchPages()).toMatchObject({ outcome: 'complete', pages: 1 });
    await feedback.finishPass('pass-1', { outcome: 'completed', error: null, waitedMs: 0, finishedAt: new Date() });
    const present = new Date(Date.now() - aheadMs).toISOString();
    expect(String(await feedback.verifiedUpTo('acme', 'prj_1')) <= present).toBe(true);
    const db = new Database(join(scene.folder, 'feedback.db'), { readOnly: true });
    onTestFinished(() => void db.close());
    expect(db.prepare('select count(*) as ahead from feedback where last_seen_at > ?').get(present)).toEqual({
      ahead: 0,
    });
  });

  it('goes by the clock of Temporal before its first answer too (S4)', async () => {
    const scheduledAt = Date.UTC(2026, 10, 22);
    scene = await activityScene();
    const { service } = organizationOf(scene.deps, 'acme');
    const begun = async () => {
      const { askedAt, seenAt } = new PageReader(service, 'prj_1', new AbortController().signal, 0).requests;
      return [askedAt, seenAt];
    };
    const activity = mockActivity({ currentAttemptScheduledTimestampMs: scheduledAt });
    expect(await activity.run(begun)).toEqual([new Date(scheduledAt), new Date(scheduledAt)]);
  });

  it('says what to do when its pass has ended, as after a reset of its run', async () => {
    await begin();
    const end = { outcome: 'failed', error: 'BadPage', waitedMs: 0, finishedAt: new Date() } as const;
    await scene.deps.feedback.finishPass('pass-1', end);
    const message = 'this pass has ended already (failed): start another';
    expect(await failureOf(fetchPages())).toMatchObject({ type: 'InvalidInput', message, nonRetryable: true });
    expect(analytics()).toEqual([]);
  });

  it('waits for the organization when the key is refused (401), after one request', async () => {
    await begin();
    scene.sandbox.setFaults({ unauthorized: true });
    expect(await fetchPages()).toMatchObject({
      outcome: 'waiting',
      requests: 1,
      waiting: { reason: 'unauthorized', until: expect.any(Number) },
    });
    expect(await fetchPages()).toMatchObject({ outcome: 'waiting', requests: 1 });
    expect(analytics()).toHaveLength(1);
    expect(scene.window()).toMatchObject({ pausedBy: 'unauthorized', available: 0 });
  });

  it('tells the budget how many pages it expects, and shows when the pass will be done', async () => {
    const planned = { ...everything, stage: 'read' as const, expectedPages: 25 };
    await begin({ entries: 2_500 }, { slices: [planned] });
    expect(await fetchPages()).toMatchObject({ forecast: { pages: 25, windows: 0 } });
    expect(await fetchPages()).toMatchObject({ forecast: { pages: 15 } });
    expect(scene.asks).toMatchObject([
      { project: 'prj_1', remaining: 25 },
      { project: 'prj_1', remaining: 15 },
    ]);
  });

  it('refuses to write to another store than the one the pass began in', async () => {
    await begin();
    expect(await failureOf(fetchPages({ storeId: 'another' }))).toMatchObject({
      type: 'StoreMismatch',
      nonRetryable: true,
    });
    expect(analytics()).toHaveLength(0);
  });

  it('never asks the same question twice, not even when an operator resets its attempts (B1)', async () => {
    await begin({ entries: 5_000 });
    await fetchPages();
    await fetchPages();
    expect(new Set(scene.asks.map((question) => question.id)).size).toBe(2);
  });

  it('gives back a lease whose answer was lost on the way', async () => {
    await begin({ entries: 500 });
    const { ask } = scene.deps.permits;
    scene.deps.permits.ask = async (org, question) => {
      await ask(org, question);
      throw new Error('the answer was lost');
    };
    await expect(fetchPages()).rejects.toThrow('the answer was lost');
    expect(scene.window()).toMatchObject({ used: 0, holders: [] });
  });

  it('is refused when a newer attempt has asked', async () => {
    await begin({ entries: 5_000 });
    attempts = 100;
    await fetchPages();
    attempts = 50;
    expect(await failureOf(fetchPages())).toMatchObject({ type: 'AttemptReplaced', nonRetryable: false });
  });
});
