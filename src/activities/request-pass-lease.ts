import type { PassRow } from '../feedback/reading/pass-store.ts';
import { maxLease, type PermitClass, type PermitWait } from '../budget/rules/permits.ts';
import { expectedDemand } from '../budget/rules/expected-demand.ts';
import type { PassSlice } from '../feedback/rules/pass-slice.ts';
import type { Lease } from '../budget/lease.ts';
import { type ActivityDependencies, spareUseOf } from './dependencies.ts';
import { requestLease } from './request-lease.ts';
import { scheduledAt } from './scheduled-at.ts';

/** Requests the lease that a pass needs next, as far as it is known; waiting is a normal answer. */
export async function requestPassLease(
  deps: ActivityDependencies,
  { org, project, class: kind }: { org: string; project: string; class: PermitClass },
  { row, slice }: { row: PassRow | null; slice: PassSlice | null },
): Promise<Lease | PermitWait> {
  const pass = { project, class: kind };
  if (kind === 'verify') {
    return requestLease(deps.permits, org, { ...pass, wants: 1, leave: await neededBySchedules(deps, org) });
  }
  const expectedPages = row?.expectedPages ?? null;
  return requestLease(deps.permits, org, {
    ...pass,
    wants: maxLease,
    ...(slice?.outcome === 'checking' ? { mayWait: false } : {}),
    ...(expectedPages === null ? {} : { remaining: Math.max(1, expectedPages - (row?.pages ?? 0)) }),
  });
}

/** Requests that schedules are going to need, by what their latest passes have cost. */
async function neededBySchedules(deps: ActivityDependencies, org: string): Promise<number> {
  const { windowMs, scheduled } = spareUseOf(deps, org);
  const costs = await deps.feedback.latestCosts(org);
  const demand = expectedDemand(scheduled, costs, { atMs: scheduledAt().getTime(), windowMs });
  return Math.min(demand, Number.MAX_SAFE_INTEGER);
}
