import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { budgetWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';

/**
 * Terminates the budgets that run, and those of `orgs`, which a list may not show yet. Their successors find that they
 * ended, and grant nothing until one window later (B7). Returns the ids of the organizations.
 */
export async function endBudgets(client: Client, orgs: readonly string[], reason: string): Promise<string[]> {
  const ids = new Set(orgs.map(budgetWorkflowId));
  const query = `WorkflowType = '${workflowTypes.rateBudget}' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of client.workflow.list({ query })) ids.add(workflowId);
  const ended: string[] = [];
  for (const id of ids) {
    try {
      await client.workflow.getHandle(id).terminate(reason);
      ended.push(id.slice(budgetWorkflowId('').length));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return ended.sort();
}
