import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { Lease, LeaseOver, type Refusal, type SentRequest } from '../budget/lease.ts';
import type { KeyCheck } from '../budget/rules/permits.ts';
import { type ActivityDependencies, organizationOf } from './dependencies.ts';
import { serviceFailure } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';
import { isAnswer, refusalOf, requestLease, settleLease } from './leases.ts';

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
