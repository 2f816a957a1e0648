import type { Client } from '@temporalio/client';
import { budgetView } from '../budget/budget.ts';
import { inBatches } from '../temporal/in-batches.ts';
import { callsAtOnce } from '../schedules/owned-schedules.ts';

/** For the answers of all budgets together: without a worker there are none. */
const answerWithinMs = 1_000;

export interface WaitingSyncs {
  /** Ids of syncs that wait for permits. */
  waiting: Set<string>;
  /** Organizations whose key the service refuses. */
  unauthorized: Set<string>;
}

/** What the budgets of these organizations say of their syncs; a budget that does not answer in time says nothing. */
export async function waitingSyncs(client: Client, orgs: readonly string[]): Promise<WaitingSyncs> {
  const found: WaitingSyncs = { waiting: new Set(), unauthorized: new Set() };
  const endsAt = Date.now() + answerWithinMs;
  await inBatches(orgs, callsAtOnce, async (org) => {
    const view = await client.withDeadline(endsAt, () => budgetView(client, org)).catch(() => null);
    if (view?.pausedBy === 'unauthorized') found.unauthorized.add(org);
    for (const { workflowId } of view?.waiters ?? []) found.waiting.add(workflowId);
  });
  return found;
}
