import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../budget/client.ts';
import type { WindowView } from '../budget/rules/permits.ts';
import { attributesOf, lookSignal, type Workflows } from '../contract.ts';
import { searchAttributes, watchWorkflowId, webhookWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { type Failover, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { inBatches } from '../temporal/runs.ts';
import type { WebhookDelivery } from './rules/webhook-event.ts';

export interface Starts {
  taskQueue: string;
  failover: Failover;
}

/** Has the organization watched, and looked at now: by the watch that runs already, unless its task queue is another. */
export async function startWatch(client: Client, org: string, { taskQueue, failover }: Starts): Promise<void> {
  const options = {
    workflowId: watchWorkflowId(org),
    taskQueue,
    ...taskTimeoutFor(failover),
    staticSummary: `watch of ${org}`,
    typedSearchAttributes: attributesOf({ org }),
    args: [{ org, failover }] as Parameters<Workflows['watchOrganization']>,
  };
  const type = workflowTypes.watchOrganization;
  const { workflow } = client;
  const handle = await workflow.signalWithStart<Workflows['watchOrganization']>(type, {
    ...options,
    signal: lookSignal,
  });
  const { taskQueue: queue } = await workflow.getHandle(handle.workflowId).describe();
  if (queue === taskQueue) return;
  await workflow.start<Workflows['watchOrganization']>(type, {
    ...options,
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
  });
}

/** Starts the delivery of a message, at most once however often it is asked to. */
export async function startDelivery(client: Client, delivery: WebhookDelivery, starts: Starts): Promise<void> {
  const { org, webhook, messageId, event } = delivery;
  try {
    await client.workflow.start<Workflows['deliverWebhook']>(workflowTypes.deliverWebhook, {
      workflowId: webhookWorkflowId(org, webhook, messageId),
      taskQueue: starts.taskQueue,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...taskTimeoutFor(starts.failover),
      staticSummary: `${event.type} to ${webhook} (${org})`,
      typedSearchAttributes: attributesOf({ org }),
      args: [delivery],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** The window of the organization's budget; null when none runs. */
export async function watchedBudget(client: Client, org: string): Promise<WindowView | null> {
  try {
    return await budgetView(client, org);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** How many of the organization's runs wait because the service refuses the key. */
export async function countRefusedRuns(client: Client, org: string): Promise<number> {
  const query = [
    `${searchAttributes.org} = "${org}"`,
    `${searchAttributes.phase} = "unauthorized"`,
    'ExecutionStatus = "Running"',
  ].join(' AND ');
  return (await client.workflow.count(query)).count;
}

/** Watches that are started at a time. */
const atOnce = 8;
const againAfterMs = 5_000;

interface StartWatches {
  start(org: string): Promise<void>;
  /** A watch could not be started; it is tried again. */
  onFailure(org: string, error: unknown): void;
  stopped(): boolean;
}

/**
 * Starts the watches of these organizations, a few at a time, and continues until the last has started or the worker
 * stops.
 */
export async function startWatches(orgs: readonly string[], how: StartWatches, waitMs = againAfterMs): Promise<void> {
  let left = [...orgs];
  while (!how.stopped() && left.length > 0) {
    const started = await inBatches(left, atOnce, (org) =>
      how.start(org).then(
        () => true,
        (error: unknown) => {
          if (!how.stopped()) how.onFailure(org, error);
          return false;
        },
      ),
    );
    left = left.filter((_, index) => !started[index]);
    if (left.length > 0) await sleep(waitMs, undefined, { ref: false });
  }
}
