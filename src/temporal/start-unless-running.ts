import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';

/** What runs may end at the moment it is met, and a schedule may start the next. */
const tries = 5;

/** What `start` starts under this id; null when a workflow runs under it. */
export async function startUnlessRunning<Handle>(
  client: Client,
  workflowId: string,
  start: () => Promise<Handle>,
): Promise<Handle | null> {
  for (let left = tries; ; left -= 1) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError) || left <= 1) throw error;
      const { status } = await client.workflow.getHandle(workflowId).describe();
      if (status.name === 'RUNNING') return null;
    }
  }
}
