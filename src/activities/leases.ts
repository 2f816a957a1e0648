import { activityInfo, log } from '@temporalio/activity';
import { askForLease, Lease, type PermitSource, type Refusal } from '../budget/lease.ts';
import type { PermitAsk, PermitWait } from '../budget/rules/permits.ts';
import { RateLimited, ServiceError, Unauthorized } from '../service/errors.ts';
import { nameOf, transient } from './failures.ts';

/** What an activity asks of the budget. */
type LeaseRequest = Omit<PermitAsk, 'id' | 'holder' | 'attemptAt' | 'program'>;

/** Requests a lease for this attempt; waiting is a normal answer. Throws `AttemptReplaced`. */
export async function requestLease(
  permits: PermitSource,
  org: string,
  request: LeaseRequest,
): Promise<Lease | PermitWait> {
  const info = activityInfo();
  const { workflowId = '' } = info.workflowExecution ?? {};
  const answer = await askForLease(permits, org, {
    ...request,
    holder: workflowId,
    attemptAt: info.currentAttemptScheduledTimestampMs,
  });
  if (answer instanceof Lease || answer.kind === 'wait') return answer;
  throw transient('AttemptReplaced', 'a newer attempt of this activity is at work');
}

/** A lost report costs time but breaks no promise: unreported permits count as sent. */
export async function settleLease(permits: PermitSource, org: string, lease: Lease, refusal?: Refusal): Promise<void> {
  try {
    await permits.report(org, lease.settlement(refusal));
  } catch (error) {
    log.warn('the report of a lease did not reach the budget; its permits count as sent', {
      error: nameOf(error),
    });
  }
}

/** A full window or a refused key, for which the whole organization must wait. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof RateLimited) return { throttled: { retryAfterMs: error.retryAfterMs } };
  return error instanceof Unauthorized ? { unauthorized: true } : undefined;
}

/** Whether the service answered, so that the request has arrived. Lost and aborted ones may still be on their way. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ServiceError && error.name !== 'NetworkError' && error.name !== 'Aborted';
}
