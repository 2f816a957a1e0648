import type { Client } from '@temporalio/client';
import { searchAttributes, workflowTypes } from '../rules/workflow-ids.ts';

/** The latest run of an export, rollback or pass that no schedule started. */
export interface RunByHand {
  workflowId: string;
  startedAt: string;
  /** Temporal's status, e.g. `COMPLETED`. */
  status: string;
  /** The search attribute `DocferryOutcome`; null while it runs, and when it was terminated. */
  outcome: string | null;
}

/** One page of the server's list, the running and then the latest ended runs first. */
const mostListed = 1_000;

/**
 * The latest runs on the task queue that were started by hand, by workflow id, from one request: what scheduled runs start
 * has a parent. Of a site or project that others have outrun by a thousand runs, none is found.
 */
export async function latestRunsByHand(client: Client, taskQueue: string): Promise<Map<string, RunByHand>> {
  const { exportSite, rollBack, syncFeedback } = workflowTypes;
  const query = `WorkflowType IN ('${exportSite}', '${rollBack}', '${syncFeedback}') AND ParentWorkflowId IS NULL`;
  const latest = new Map<string, RunByHand>();
  let listed = 0;
  for await (const run of client.workflow.list({ query, pageSize: mostListed })) {
    listed += 1;
    const { workflowId, startTime, status } = run;
    if (run.taskQueue === taskQueue && !latest.has(workflowId)) {
      const [outcome = null] = (run.searchAttributes[searchAttributes.outcome] ?? []) as string[];
      latest.set(workflowId, { workflowId, startedAt: startTime.toISOString(), status: status.name, outcome });
    }
    if (listed >= mostListed) break;
  }
  return latest;
}
