import type { Client, WorkflowHandle } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';

/** Temporal lists a poller for minutes after its worker died; a live one polls at least once a minute. */
const quietPollerMs = 80_000;
const answerWithinMs = 3_000;
/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's interface. */
const workflowTasks = 1;

/** Whether a worker polls the task queue; null when Temporal does not say. */
export async function workerPolls(client: Client, taskQueue: string): Promise<boolean | null> {
  try {
    const { pollers } = await client.withDeadline(Date.now() + answerWithinMs, () =>
      client.workflowService.describeTaskQueue({
        namespace: client.options.namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: workflowTasks,
      }),
    );
    const since = Date.now() - quietPollerMs;
    return (pollers ?? []).some(({ lastAccessTime }) => (optionalTsToMs(lastAccessTime) ?? 0) > since);
  } catch {
    return null;
  }
}

/** An activity that failed and is retried. */
export interface Retry {
  activity: string;
  attempt: number;
  /** Type and message of the last failure. */
  reason: string;
}

/** The activities being retried, of a workflow that otherwise looks idle; none when unknown. */
export async function retriesOf(client: Client, handle: WorkflowHandle): Promise<Retry[]> {
  try {
    const { raw } = await client.withDeadline(Date.now() + answerWithinMs, () => handle.describe());
    return (raw.pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure }) => {
      if (!lastFailure || (attempt ?? 1) < 2) return [];
      const type = lastFailure.applicationFailureInfo?.type;
      const reason = `${type ? `${type}: ` : ''}${lastFailure.message ?? 'failed'}`;
      return [{ activity: activityType?.name ?? 'a step', attempt: attempt ?? 1, reason }];
    });
  } catch {
    return [];
  }
}

/** A worker's answer to a query; null when none comes in time, because no worker is running or it is busy. */
export async function answerOrNull<Answer>(
  client: Client,
  taskQueue: string,
  ask: () => Promise<Answer>,
): Promise<Answer | null> {
  if ((await workerPolls(client, taskQueue)) === false) return null;
  try {
    return await client.withDeadline(Date.now() + 2 * answerWithinMs, ask);
  } catch {
    return null;
  }
}
