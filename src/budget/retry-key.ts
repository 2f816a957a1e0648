import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { targetOfWorkflowId } from '../rules/schedule-target.ts';
import { budgetWorkflowId, searchAttributes, workflowTypes } from '../rules/workflow-ids.ts';
import { retryKeySignal } from '../definitions.ts';
import { inBatches } from '../temporal/in-batches.ts';
import { callsAtOnce } from '../schedules/owned-schedules.ts';

/** Like `retryKeys`, of one organization. */
export async function retryKey(client: Client, org: string): Promise<void> {
  await retryKeys(client, new Set([org]));
}

/**
 * Tells all that waits for the keys of these organizations that they may have changed: exports, which one search finds, and
 * the budgets for the syncs.
 */
export async function retryKeys(client: Client, orgs: ReadonlySet<string>): Promise<void> {
  const [only, ...others] = orgs;
  const query = [
    `WorkflowType = "${workflowTypes.exportSite}"`,
    ...(others.length === 0 ? [`${searchAttributes.org} = "${only}"`] : []),
    `${searchAttributes.phase} = "unauthorized"`,
    'ExecutionStatus = "Running"',
  ].join(' AND ');
  const ids = [...orgs].map(budgetWorkflowId);
  for await (const { workflowId } of client.workflow.list({ query })) {
    if (orgs.has(targetOfWorkflowId(workflowId)?.org ?? '')) ids.push(workflowId);
  }
  await inBatches(ids, callsAtOnce, (workflowId) => signalIfThere(client, workflowId));
}

async function signalIfThere(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).signal(retryKeySignal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
