import type { Client, WorkflowHandle, WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import type { SyncInput, SyncState } from '../model/sync/sync.ts';
import { handoverIn, taskTimeoutFor } from '../model/temporal-settings.ts';
import { syncWorkflowId, workflowTypes } from '../model/workflow-ids.ts';
import { syncStateQuery } from '../workflows/definitions.ts';
import { attributesOf } from '../workflows/search-attributes.ts';
import type { syncFeedback } from '../workflows/sync-feedback.ts';

export type SyncHandle = WorkflowHandleWithFirstExecutionRunId<typeof syncFeedback>;

/** Starts a pass, or joins the running one of the same kind (architecture.md). */
export async function startSync(client: Client, taskQueue: string, input: SyncInput): Promise<SyncHandle> {
  const { org, project, pass } = input;
  return client.workflow.start<typeof syncFeedback>(workflowTypes.syncFeedback, {
    workflowId: syncWorkflowId(org, project, pass),
    taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    ...taskTimeoutFor(handoverIn(input)),
    args: [input],
    staticSummary: `${pass} of ${project} (${org})`,
    typedSearchAttributes: attributesOf({ org, project, phase: 'starting' }),
  });
}

/** Handle of the latest pass of a kind, which need not exist. */
export function syncHandle(
  client: Client,
  { org, project, pass }: Pick<SyncInput, 'org' | 'project' | 'pass'>,
): WorkflowHandle<typeof syncFeedback> {
  return client.workflow.getHandle<typeof syncFeedback>(syncWorkflowId(org, project, pass));
}

/** Throws `WorkflowNotFoundError` when Temporal knows no such pass. */
export async function syncState(
  client: Client,
  input: Pick<SyncInput, 'org' | 'project' | 'pass'>,
): Promise<SyncState> {
  return syncHandle(client, input).query(syncStateQuery);
}
