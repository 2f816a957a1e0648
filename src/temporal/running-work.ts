import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { type ScheduleTarget, targetOfWorkflowId } from '../rules/schedule-target.ts';
import { searchAttributes, workflowTypes } from '../rules/workflow-ids.ts';

/** An export, a rollback or a sync that runs, as Temporal lists it. */
export interface RunningWork {
  workflowId: string;
  runId: string;
  target: ScheduleTarget;
  /** Name of the workflow, e.g. `exportSite`. */
  type: string;
  startedAt: Date;
  /** `DocferryPhase`; null when it has none yet. */
  phase: string | null;
}

/**
 * All exports, rollbacks and syncs running on the task queue, scheduled or not, from Temporal's list: it is a moment behind,
 * and costs a request for each thousand instead of one for each workflow.
 */
export async function runningWork(client: Client, taskQueue: string): Promise<RunningWork[]> {
  const { exportSite, rollBack, syncFeedback } = workflowTypes;
  const query = `ExecutionStatus = 'Running' AND WorkflowType IN ('${exportSite}', '${rollBack}', '${syncFeedback}')`;
  const running: RunningWork[] = [];
  for await (const listed of client.workflow.list({ query })) {
    const { workflowId, runId, type, startTime: startedAt } = listed;
    const target = targetOfWorkflowId(workflowId);
    if (target && listed.taskQueue === taskQueue) {
      running.push({ workflowId, runId, target, type, startedAt, phase: phaseOf(listed) });
    }
  }
  return running;
}

function phaseOf({ typedSearchAttributes }: WorkflowExecutionInfo): string | null {
  const phase = typedSearchAttributes.getAll().find(({ key }) => key.name === searchAttributes.phase);
  return phase === undefined ? null : String(phase.value);
}
