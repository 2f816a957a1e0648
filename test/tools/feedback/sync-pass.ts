import { ApplicationFailure } from '@temporalio/common';
import { createPageActivities, type FetchPagesResult } from '../../../src/activities/feedback-pages.ts';
import { createPassActivities } from '../../../src/activities/feedback-passes.ts';
import { noEntries } from '../../../src/feedback/rules/feedback-entry.ts';
import type { PassKind, SyncProgress, SyncResult } from '../../../src/feedback/rules/sync.ts';
import { type ActivityScene, mockActivity } from '../activity-dependencies.ts';

/** How a pass ended: its result, or the failure it was recorded with. */
export interface PassEnd extends Pick<SyncResult, 'pages' | 'requests' | 'entries' | 'watermark' | 'verifiedUpTo'> {
  failure: { type: string; message: string } | null;
  expectedPages: number | null;
  /** Times the pass waited for the budget. */
  waits: number;
}

/** Failed attempts in a row after which Temporal would go on trying, and a test does not. */
const mostAttempts = 5;

let passes = 0;
let attempts = 1_000;

/**
 * Runs a pass as `syncFeedback` does, without Temporal: the activities over the sandbox and a real store, waiting for
 * the scene's budget, trying again what may pass.
 */
export async function runPass(
  scene: ActivityScene,
  pass: PassKind,
  more: { from?: string; to?: string; onLeg?: (leg: FetchPagesResult) => void | Promise<void> } = {},
): Promise<PassEnd> {
  passes += 1;
  const { onLeg, ...bounds } = more;
  const passId = `pass-${passes}`;
  const ids = { org: 'acme', project: 'prj_1' };
  const { beginPass, finishPass } = createPassActivities(scene.deps);
  const { fetchPages } = createPageActivities(scene.deps);
  const attempt = <T>(work: () => Promise<T>): Promise<T> => {
    attempts += 1;
    return mockActivity({ currentAttemptScheduledTimestampMs: Date.now() + attempts }).run(work);
  };
  const { storeId } = await attempt(() => beginPass({ ...ids, pass, passId, startedAt: Date.now(), ...bounds }));
  const nothing = { pages: 0, requests: 0, throttled: 0, waitedMs: 0, entries: noEntries };
  let progress: SyncProgress = { passId, storeId, ...nothing };
  let [tries, failed, waits] = [0, 0, 0];
  let failure: PassEnd['failure'] = null;
  for (let complete = false; !complete && failure === null; ) {
    try {
      const leg = await attempt(() => fetchPages({ ...ids, passId, storeId, tries }));
      failed = 0;
      tries = leg.tries;
      const { pages, requests, throttled, entries } = leg;
      progress = { ...progress, pages, requests, throttled, entries };
      complete = leg.outcome === 'complete';
      await onLeg?.(leg);
      if (leg.waiting) {
        waits += 1;
        await new Promise((resolve) => setTimeout(resolve, Math.max(1, (leg.waiting?.until ?? 0) - Date.now())));
      }
    } catch (error) {
      if (!(error instanceof ApplicationFailure)) throw error;
      failed += 1;
      if (error.nonRetryable || failed >= mostAttempts) {
        failure = { type: error.type ?? '', message: error.message };
      }
    }
  }
  const outcome = failure === null ? 'completed' : 'failed';
  const error = failure === null ? null : `${failure.type}: ${failure.message}`;
  const totals = await attempt(() => finishPass({ ...progress, ...ids, outcome, error, finishedAt: Date.now() }));
  const expectedPages = (await scene.deps.feedback.getPass(passId))?.expectedPages ?? null;
  return { ...totals, failure, expectedPages, waits };
}
