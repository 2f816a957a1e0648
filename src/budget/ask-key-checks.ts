import type { Client } from '@temporalio/client';
import type { KeyCheck } from './rules/key-check.ts';
import { type Handover, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { keyCheckWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import type { checkKey } from '../workflows/check-key.ts';
import { attributesOf } from '../search-attributes.ts';

/**
 * Has a worker ask the service, with at most one request, whether it accepts the organization's key; joins a running
 * check. Throws `WorkflowFailedError` when the worker could not.
 */
export async function askForKeyCheck(
  client: Client,
  taskQueue: string,
  org: string,
  handover: Handover,
): Promise<KeyCheck> {
  return client.workflow.execute<typeof checkKey>(workflowTypes.checkKey, {
    workflowId: keyCheckWorkflowId(org),
    taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowExecutionTimeout: '2m',
    ...taskTimeoutFor(handover),
    args: [{ org }],
    staticSummary: `key of ${org}`,
    typedSearchAttributes: attributesOf({ org }),
  });
}
