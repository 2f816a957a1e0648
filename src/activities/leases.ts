import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { askForLease, Lease, LeaseOver, type PermitSource, type Refusal, type SentRequest } from '../budget/lease.ts';
import type { KeyCheck, PermitAsk, PermitWait } from '../budget/rules/permits.ts';
import type { SyncState } from '../feedback/rules/sync.ts';
import { RateLimited, ServiceError, Unauthorized } from '../service/errors.ts';
import { type ActivityDependencies, nameOf, organizationOf, serviceFailure, transient } from './dependencies.ts';
import { withHeartbeats } from './heartbeats.ts';

/** What an activity asks of the budget. */
export type LeaseRequest = Omit<PermitAsk, 'id' | 'holder' | 'attemptAt' | 'program'>;

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

interface LeaseUse {
  signal: AbortSignal;
  /** Sends a request; false when no other one follows. */
  sendNext(): Promise<boolean>;
  /** Called at the end, with the number of refused requests. */
  countRequests(throttled: number): Promise<void>;
}

/** Sends requests as the permits of a lease allow, and reports the lease; returns how the service refused, if it did. */
export async function useLease(
  permits: PermitSource,
  org: string,
  lease: Lease,
  { signal, sendNext, countRequests }: LeaseUse,
): Promise<Refusal | undefined> {
  let refusal: Refusal | undefined;
  try {
    while (Number.isFinite(lease.untilNext())) {
      await sleep(Math.ceil(lease.untilNext()), undefined, { signal });
      if (!(await sendNext())) break;
    }
  } catch (error) {
    refusal = refusalOf(error);
    if (!refusal) throw error;
  } finally {
    await settleLease(permits, org, lease, refusal);
    await countRequests(refusal?.throttled ? 1 : 0);
  }
  return refusal;
}

/** After a refusal the budget knows that the window is full or the key was refused, and says when to come back. */
export async function waitFor(permits: PermitSource, org: string, request: LeaseRequest): Promise<PermitWait | null> {
  const answer = await requestLease(permits, org, request);
  if (!(answer instanceof Lease)) return answer;
  await settleLease(permits, org, answer);
  return null;
}

/** A wait as steps report it. */
export const waitingOf = ({ waitUntil, place, behind, reason }: PermitWait): NonNullable<SyncState['waiting']> => ({
  until: waitUntil,
  place,
  behind,
  reason,
});

/** A lost report costs time but breaks no promise: unreported permits count as sent. */
async function settleLease(permits: PermitSource, org: string, lease: Lease, refusal?: Refusal): Promise<void> {
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

/** Longest wait for a permit: a person is watching. */
const longestWaitMs = 10_000;

export const createKeyActivities = (deps: ActivityDependencies) => ({
  /** At most one request, for an entry of the first project, under a permit. Any answer is a normal result. */
  async checkKey({ org, patient = false }: { org: string; patient?: boolean }): Promise<KeyCheck> {
    const [project] = organizationOf(deps, org).projects;
    if (project === undefined) return { outcome: 'no-project' };
    return withHeartbeats(
      () => ({}),
      async (signal) => {
        const lease = await askForOne(deps, org, project.id, patient);
        return lease instanceof Lease ? checkUnder(lease, deps, { org, project: project.id }, signal) : lease;
      },
    );
  },
});

async function askForOne(
  deps: ActivityDependencies,
  org: string,
  project: string,
  mayWait: boolean,
): Promise<Lease | KeyCheck> {
  const answer = await requestLease(deps.permits, org, { project, class: 'on-demand', wants: 1, mayWait });
  return answer instanceof Lease ? answer : { outcome: 'no-permit', until: answer.waitUntil };
}

async function checkUnder(
  lease: Lease,
  deps: ActivityDependencies,
  { org, project }: { org: string; project: string },
  signal: AbortSignal,
): Promise<KeyCheck> {
  const wait = lease.untilNext();
  let refusal: Refusal | undefined;
  let sent: SentRequest | undefined;
  let clockAheadMs: number | null = null;
  try {
    if (wait > longestWaitMs) return { outcome: 'no-permit', until: Date.now() + longestWaitMs };
    await sleep(wait, undefined, { signal });
    await organizationOf(deps, org).service.getFeedbackPage(
      project,
      { limit: 1 },
      {
        signal,
        beforeSend: () => {
          sent = lease.take();
        },
        afterWrite: () => sent?.written(),
        onDate: (serviceMs) => {
          clockAheadMs = Date.now() - serviceMs;
        },
      },
    );
    sent?.answered();
    return { outcome: 'accepted', project, clockAheadMs };
  } catch (error) {
    if (error instanceof LeaseOver) return { outcome: 'no-permit', until: Date.now() };
    refusal = refusalOf(error);
    if (isAnswer(error)) sent?.answered(refusal ? 'refused' : 'accepted');
    const failure = serviceFailure(error);
    if (!(failure instanceof ApplicationFailure) || !failure.type) throw failure;
    return { outcome: 'refused', project, clockAheadMs, type: failure.type, message: failure.message };
  } finally {
    await settleLease(deps.permits, org, lease, refusal);
  }
}
