import type { Client, WorkflowHandle } from '@temporalio/client';
import { budgetView } from '../budget/client.ts';
import { attributesOf, syncStateQuery, type Workflows } from '../contract.ts';
import type { SyncInput, SyncState } from '../feedback/rules/sync.ts';
import { syncWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { failoverIn, priorityOf, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { callsAtOnce, inBatches, startUnlessRunning } from '../temporal/runs.ts';

export type SyncHandle = WorkflowHandle<Workflows['syncFeedback']>;

export interface Started<Handle> {
  handle: Handle;
  /** It was running already. */
  joined: boolean;
  /** Of the run that this has started; null when it has started none. */
  runId: string | null;
}

/** Starts a pass and returns its run, or joins the running pass of the same kind. */
export async function startOrJoinSync(
  client: Client,
  taskQueue: string,
  input: SyncInput,
): Promise<Started<SyncHandle>> {
  const { org, project, pass } = input;
  const workflowId = syncWorkflowId(org, project, pass);
  const started = await startUnlessRunning(client, workflowId, () =>
    client.workflow.start<Workflows['syncFeedback']>(workflowTypes.syncFeedback, {
      workflowId,
      taskQueue,
      workflowIdConflictPolicy: 'FAIL',
      ...taskTimeoutFor(failoverIn(input)),
      ...priorityOf('onDemand', org),
      args: [input],
      staticSummary: `${pass} of ${project} (${org})`,
      typedSearchAttributes: attributesOf({ org, project, phase: 'starting' }),
    }),
  );
  if (started === null) return { handle: syncHandle(client, input), joined: true, runId: null };
  return { handle: started, joined: false, runId: started.firstExecutionRunId };
}

/** Like `startOrJoinSync`, where it does not matter which. */
export async function startSync(client: Client, taskQueue: string, input: SyncInput): Promise<SyncHandle> {
  return (await startOrJoinSync(client, taskQueue, input)).handle;
}

/** Handle of the latest pass of a kind, which need not exist. */
export function syncHandle(
  client: Client,
  { org, project, pass }: Pick<SyncInput, 'org' | 'project' | 'pass'>,
): SyncHandle {
  return client.workflow.getHandle<Workflows['syncFeedback']>(syncWorkflowId(org, project, pass));
}

/** Throws `WorkflowNotFoundError` when Temporal knows no such pass. */
export async function syncState(
  client: Client,
  input: Pick<SyncInput, 'org' | 'project' | 'pass'>,
): Promise<SyncState> {
  return syncHandle(client, input).query(syncStateQuery);
}

/** For the answers of all budgets together: without a worker there are none. */
const answerWithinMs = 1_000;

export interface WaitingSyncs {
  /** Ids of syncs that wait for permits. */
  waiting: Set<string>;
  /** Organizations whose key the service refuses. */
  unauthorized: Set<string>;
}

/** What the budgets of these organizations say of their syncs; a budget that does not answer in time says nothing. */
export async function waitingSyncs(client: Client, orgs: readonly string[]): Promise<WaitingSyncs> {
  const found: WaitingSyncs = { waiting: new Set(), unauthorized: new Set() };
  const endsAt = Date.now() + answerWithinMs;
  await inBatches(orgs, callsAtOnce, async (org) => {
    const view = await client.withDeadline(endsAt, () => budgetView(client, org)).catch(() => null);
    if (view?.pausedBy === 'unauthorized') found.unauthorized.add(org);
    for (const { workflowId } of view?.waiters ?? []) found.waiting.add(workflowId);
  });
  return found;
}
