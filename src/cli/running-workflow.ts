import { type WorkflowExecutionDescription, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { noSuchThing } from './cli-failure.ts';

/** What Temporal knows of a workflow, without asking a worker; null if it never ran or its retention is over. */
export async function describeWorkflow(handle: WorkflowHandle): Promise<WorkflowExecutionDescription | null> {
  try {
    return await handle.describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Throws a failure with exit code 4 unless the workflow is running. */
export async function requireRunning(handle: WorkflowHandle, what: string): Promise<WorkflowExecutionDescription> {
  const description = await describeWorkflow(handle);
  if (description?.status.name === 'RUNNING') return description;
  throw noSuchThing('NotRunning', `no ${what} is running`);
}
