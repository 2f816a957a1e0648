import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { KeyCheck } from '../model/key-check.ts';
import { RateLimited } from '../service/errors.ts';
import { type ActivityDependencies, organizationOf } from './dependencies.ts';
import { transient } from './failures.ts';
import { isAnswer } from './feedback-pages.ts';
import { withHeartbeats } from './heartbeats.ts';
import { instant, Lease, LeaseOver, questionId } from './permits.ts';
import { serviceFailure } from './service-failures.ts';

/** A permit that is free later than this is not waited for: somebody is looking. */
const longestWaitMs = 10_000;

export const createKeyActivities = (deps: ActivityDependencies) => ({
  /**
   * Asks the service for one entry of the organization's first project: one request at most, under a permit of the
   * budget. What the service answers is a normal result.
   */
  async checkKey({ org }: { org: string }): Promise<KeyCheck> {
    const [project] = organizationOf(deps, org).projects;
    if (project === undefined) return { outcome: 'no-project' };
    return withHeartbeats(
      () => ({}),
      async (signal) => {
        const lease = await askForOne(deps, org);
        return lease instanceof Lease ? checkUnder(lease, deps, { org, project }, signal) : lease;
      },
    );
  },
});

async function askForOne(deps: ActivityDependencies, org: string): Promise<Lease | KeyCheck> {
  const info = activityInfo();
  const { workflowId = '' } = info.workflowExecution ?? {};
  const askedAt = instant();
  const answer = await deps.permits.ask(org, {
    id: questionId(),
    holder: workflowId,
    class: 'on-demand',
    wants: 1,
    attemptAt: info.currentAttemptScheduledTimestampMs,
    mayWait: false,
  });
  if (answer.kind === 'superseded') throw transient('Superseded', 'a newer attempt of this activity is at work');
  if (answer.kind === 'wait') return { outcome: 'no-permit', until: answer.waitUntil };
  return new Lease(answer, askedAt, instant());
}

async function checkUnder(
  lease: Lease,
  deps: ActivityDependencies,
  { org, project }: { org: string; project: string },
  signal: AbortSignal,
): Promise<KeyCheck> {
  const wait = lease.untilNext();
  let throttled: { retryAfterMs: number | null } | undefined;
  let clockAheadMs: number | null = null;
  try {
    if (wait > longestWaitMs) return { outcome: 'no-permit', until: Date.now() + longestWaitMs };
    await sleep(wait, undefined, { signal });
    await organizationOf(deps, org).service.getFeedbackPage(
      project,
      { limit: 1 },
      {
        signal,
        beforeSend: () => lease.take(),
        onDate: (serviceMs) => {
          clockAheadMs = Date.now() - serviceMs;
        },
      },
    );
    lease.answered();
    return { outcome: 'accepted', project, clockAheadMs };
  } catch (error) {
    if (error instanceof LeaseOver) return { outcome: 'no-permit', until: Date.now() };
    if (isAnswer(error)) lease.answered();
    if (error instanceof RateLimited) throttled = { retryAfterMs: error.retryAfterMs };
    const failure = serviceFailure(error);
    if (!(failure instanceof ApplicationFailure) || !failure.type) throw failure;
    return { outcome: 'refused', project, clockAheadMs, type: failure.type, message: failure.message };
  } finally {
    await settle(deps, org, lease, throttled);
  }
}

/** A lost report costs time, never the promise: unreported permits count as sent. */
async function settle(
  deps: ActivityDependencies,
  org: string,
  lease: Lease,
  throttled: { retryAfterMs: number | null } | undefined,
): Promise<void> {
  try {
    await deps.permits.report(org, lease.settlement(throttled));
  } catch (error) {
    log.warn('the budget could not be told what became of a lease; its permits count as sent', {
      error: error instanceof Error ? error.name : 'unknown',
    });
  }
}
