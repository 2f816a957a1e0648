import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { budgetWorkflowId, searchAttributes, workflowTypes } from '../model/workflow-ids.ts';
import { retryKeySignal } from '../workflows/definitions.ts';

/** Tells all that waits for an organization's key that it may have changed: exports, and the budget for the syncs. */
export async function retryKey(client: Client, org: string): Promise<void> {
  const ids = [budgetWorkflowId(org)];
  const query = [
    `WorkflowType = "${workflowTypes.exportSite}"`,
    `${searchAttributes.org} = "${org}"`,
    `${searchAttributes.phase} = "unauthorized"`,
    'ExecutionStatus = "Running"',
  ].join(' AND ');
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
  await Promise.all(ids.map((workflowId) => signalIfThere(client, workflowId)));
}

async function signalIfThere(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).signal(retryKeySignal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
