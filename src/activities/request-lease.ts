import { activityInfo, log } from '@temporalio/activity';
import type { LeaseReport, PermitAnswer, PermitAsk, PermitWait } from '../model/budget/permits.ts';
import { transient } from './history-safe-failures.ts';
import { instant, Lease, type PermitSource, questionId } from './lease-in-use.ts';

/** What an activity wants of the budget. */
export type LeaseRequest = Omit<PermitAsk, 'id' | 'holder' | 'attemptAt'>;
/** How the service refused a request under a lease. */
export type Refusal = Pick<LeaseReport, 'throttled' | 'unauthorized'>;

/** Requests a lease for this attempt; waiting is a normal answer. Throws `AttemptReplaced`. */
export async function requestLease(
  permits: PermitSource,
  org: string,
  request: LeaseRequest,
): Promise<Lease | PermitWait> {
  const info = activityInfo();
  const { workflowId = '' } = info.workflowExecution ?? {};
  const askedAt = instant();
  const answer = await askOnce(permits, org, {
    ...request,
    id: questionId(),
    holder: workflowId,
    attemptAt: info.currentAttemptScheduledTimestampMs,
  });
  if (answer.kind === 'superseded') throw transient('AttemptReplaced', 'a newer attempt of this activity is at work');
  return answer.kind === 'granted' ? new Lease(answer, askedAt, instant()) : answer;
}

/** A lost answer may be a lease: it is returned unused, so that it does not occupy slots until it ends. */
async function askOnce(permits: PermitSource, org: string, question: PermitAsk): Promise<PermitAnswer> {
  try {
    return await permits.ask(org, question);
  } catch (error) {
    await permits.report(org, { leaseId: question.id, arrived: [] }).catch(() => {});
    throw error;
  }
}

/** A lost report costs time but breaks no promise: unreported permits count as sent. */
export async function settleLease(permits: PermitSource, org: string, lease: Lease, refusal?: Refusal): Promise<void> {
  try {
    await permits.report(org, lease.settlement(refusal));
  } catch (error) {
    log.warn('the report of a lease did not reach the budget; its permits count as sent', {
      error: error instanceof Error ? error.name : 'unknown',
    });
  }
}
