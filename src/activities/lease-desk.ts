import { activityInfo, log } from '@temporalio/activity';
import type { LeaseReport, PermitAnswer, PermitAsk, PermitWait } from '../model/budget/permits.ts';
import { transient } from './failures.ts';
import { instant, Lease, type PermitSource, questionId } from './leases.ts';

/** What an activity says of itself when it asks. */
export type Wish = Omit<PermitAsk, 'id' | 'holder' | 'attemptAt'>;
/** What the service refused under a lease. */
export type Refusal = Pick<LeaseReport, 'throttled' | 'unauthorized'>;

/** Asks for a lease in the name of this attempt; waiting is a normal answer. Throws `Superseded`. */
export async function askForLease(permits: PermitSource, org: string, wish: Wish): Promise<Lease | PermitWait> {
  const info = activityInfo();
  const { workflowId = '' } = info.workflowExecution ?? {};
  const askedAt = instant();
  const answer = await askOnce(permits, org, {
    ...wish,
    id: questionId(),
    holder: workflowId,
    attemptAt: info.currentAttemptScheduledTimestampMs,
  });
  if (answer.kind === 'superseded') throw transient('Superseded', 'a newer attempt of this activity is at work');
  return answer.kind === 'granted' ? new Lease(answer, askedAt, instant()) : answer;
}

/** An answer that is lost on the way may be a lease: it is given back unused, so that it holds no slots to its end. */
async function askOnce(permits: PermitSource, org: string, question: PermitAsk): Promise<PermitAnswer> {
  try {
    return await permits.ask(org, question);
  } catch (error) {
    await permits.report(org, { leaseId: question.id, arrived: [] }).catch(() => {});
    throw error;
  }
}

/** A lost report costs time, never the promise: unreported permits count as sent. */
export async function settleLease(permits: PermitSource, org: string, lease: Lease, refusal?: Refusal): Promise<void> {
  try {
    await permits.report(org, lease.settlement(refusal));
  } catch (error) {
    log.warn('the budget could not be told what became of a lease; its permits count as sent', {
      error: error instanceof Error ? error.name : 'unknown',
    });
  }
}
