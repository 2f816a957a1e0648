import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionInfo,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { rootCause } from '@temporalio/common';
import proto from '@temporalio/proto';
import { budgetView } from '../budget/client.ts';
import type { WindowView } from '../budget/rules/window-view.ts';
import { attributesOf, type Workflows } from '../contract.ts';
import { visibleText } from '../rules/text.ts';
import {
  type ScheduleTarget,
  searchAttributes,
  targetOfWorkflowId,
  webhookWorkflowId,
  workflowTypes,
} from '../rules/workflow-ids.ts';
import { type Failover, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { callsAtOnce, inBatches } from '../temporal/runs.ts';
import type { WebhookDelivery } from './rules/webhook-event.ts';

/** Starts the delivery of a message, at most once however often it is asked to. */
export async function startDelivery(
  client: Client,
  delivery: WebhookDelivery,
  { taskQueue, failover }: { taskQueue: string; failover: Failover },
): Promise<void> {
  const { org, webhook, messageId, event } = delivery;
  try {
    await client.workflow.start<Workflows['deliverWebhook']>(workflowTypes.deliverWebhook, {
      workflowId: webhookWorkflowId(org, webhook, messageId),
      taskQueue,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...taskTimeoutFor(failover),
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

/**
 * A run that ended without its own code (terminated, timed out, left behind by a reset), or a pass that failed or was
 * cancelled, perhaps while the database was down.
 */
export interface CutRun {
  target: ScheduleTarget;
  /** Name of the workflow, e.g. `exportSite`. */
  type: string;
  workflowId: string;
  runId: string;
  /** Of the chain of runs that continued as new. */
  firstRunId: string;
  startedAt: Date;
  endedAt: Date;
  /** In words, `terminated by anna@host: it was stuck`. */
  why: string;
  outcome: 'failed' | 'cancelled';
  /** Another run of the workflow goes on from an earlier point. */
  wasReset: boolean;
}

/** Temporal may list a run so long after its end. */
const listedWithinMs = 600_000;

/** The organization's runs on the task queue that were cut off since a moment or just before it, in milliseconds. */
export async function cutRuns(client: Client, taskQueue: string, org: string, since: number): Promise<CutRun[]> {
  const { exportSite, rollBack, syncFeedback, refreshFeedback } = workflowTypes;
  const query = [
    `${searchAttributes.org} = "${org}"`,
    `WorkflowType IN ("${[exportSite, rollBack, syncFeedback, refreshFeedback].join('", "')}")`,
    `(ExecutionStatus IN ("Terminated", "TimedOut") OR (WorkflowType = "${syncFeedback}" AND ExecutionStatus IN ("Failed", "Canceled")))`,
    `CloseTime >= "${new Date(Math.max(0, since - listedWithinMs)).toISOString()}"`,
  ].join(' AND ');
  const listed: WorkflowExecutionInfo[] = [];
  for await (const run of client.workflow.list({ query })) if (run.taskQueue === taskQueue) listed.push(run);
  return (await inBatches(listed, callsAtOnce, (run) => cutRun(client, run))).filter((run) => run !== null);
}

/** Null for what Temporal no longer keeps. */
async function cutRun(
  client: Client,
  { workflowId, runId, type, status, startTime, closeTime = startTime }: WorkflowExecutionInfo,
): Promise<CutRun | null> {
  const target = targetOfWorkflowId(workflowId);
  if (target === null) return null;
  try {
    const handle = client.workflow.getHandle(workflowId, runId);
    const { raw } = await handle.describe();
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      historyEventFilterType: proto.temporal.api.enums.v1.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
    });
    const end = history?.events?.[0]?.workflowExecutionTerminatedEventAttributes;
    const wasReset = end?.identity === resetter;
    const firstRunId = raw.workflowExecutionInfo?.firstRunId || runId;
    const common = { target, type, workflowId, runId, firstRunId, startedAt: startTime, endedAt: closeTime, wasReset };
    if (status.name === 'CANCELLED') return { ...common, outcome: 'cancelled', why: 'cancelled' };
    const timedOut = 'timed out, by the limit it was started with';
    const failed = status.name === 'FAILED' ? await reasonOf(handle) : timedOut;
    return { ...common, outcome: wasReset ? 'cancelled' : 'failed', why: end ? howItEnded(end, wasReset) : failed };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** The reason of a run's own failure, as its row would have it. */
async function reasonOf(handle: WorkflowHandle): Promise<string> {
  const failure = await handle.result().catch((error: unknown) => error);
  const cause = failure instanceof WorkflowFailedError ? failure.cause : failure;
  return visibleText(rootCause(cause) ?? 'failed').slice(0, longestWhy);
}

/** By this name the server ends a run that was reset. */
const resetter = 'history-resetter';
/** Longest reason of a row, in characters. */
const longestWhy = 300;

function howItEnded({ identity, reason }: { identity?: string | null; reason?: string | null }, wasReset: boolean) {
  const how = wasReset ? 'reset by an operator; another run goes on' : `terminated by ${identity || 'an operator'}`;
  return visibleText(reason ? `${how}: ${reason}` : how).slice(0, longestWhy);
}
