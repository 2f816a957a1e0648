import type { Client } from '@temporalio/client';

/** What becomes of the messages since: `RESET_REAPPLY_TYPE_NONE` and `RESET_REAPPLY_TYPE_ALL_ELIGIBLE`. */
const reapplyTypes = { none: 2, all: 3 };

/**
 * As `temporal workflow reset` does, to the end of the running workflow's first workflow task, or of its latest; gives the
 * id of the run that goes on from there.
 */
export async function resetRun(
  client: Client,
  workflowId: string,
  to: 'first' | 'latest',
  reapply: keyof typeof reapplyTypes = 'all',
): Promise<string> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const { runId } = await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    reason: 'by a person',
    workflowTaskFinishEventId: tasks.at(to === 'first' ? 0 : -1)?.eventId ?? null,
    requestId: crypto.randomUUID(),
    resetReapplyType: reapplyTypes[reapply],
  });
  return runId;
}
