import type { Client, WorkflowHandle } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { inBatches } from '../temporal/in-batches.ts';
import { type Retry, retriesIn } from '../temporal/retries.ts';
import { callsAtOnce } from '../schedules/owned-schedules.ts';
import { bulkQueueOf } from '../temporal/rules/failover.ts';

/** Temporal lists a poller for minutes after its worker died; a live one polls at least once a minute. */
const quietPollerMs = 80_000;
const answerWithinMs = 3_000;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY` of Temporal's interface. */
const workflowTasks = 1;
const activityTasks = 2;

/** Whether a worker polls the task queue for workflows, and so answers queries and updates; null when Temporal does not say. */
export async function workerPolls(client: Client, taskQueue: string): Promise<boolean | null> {
  return isPolled(client, taskQueue, workflowTasks);
}

/** Those of docferry's two task queues that no worker polls; null when Temporal does not say. */
export async function queuesWithoutWorker(client: Client, taskQueue: string): Promise<string[] | null> {
  const bulk = bulkQueueOf(taskQueue);
  const [short, long] = await Promise.all([workerPolls(client, taskQueue), isPolled(client, bulk, activityTasks)]);
  if (short === null || long === null) return null;
  return [...(short ? [] : [taskQueue]), ...(long ? [] : [bulk])];
}

/** That no worker polls some of the queues. */
export const noWorkerText = (lacking: readonly string[]): string =>
  `no worker polls the task queue ${lacking.join(' and ')}`;

/** How to start a worker for the queues that lack one. */
export function howToStart(taskQueue: string, lacking: readonly string[]): string {
  const [first, ...others] = lacking;
  if (others.length > 0 || first === undefined) return 'start one with `docferry worker` or `docferry up`';
  const missing = first === taskQueue ? 'short' : 'bulk';
  return `start one with \`docferry worker --only ${missing}\`, or both kinds with \`docferry worker\``;
}

async function isPolled(client: Client, taskQueue: string, taskQueueType: number): Promise<boolean | null> {
  try {
    const { pollers } = await client.withDeadline(Date.now() + answerWithinMs, () =>
      client.workflowService.describeTaskQueue({
        namespace: client.options.namespace,
        taskQueue: { name: taskQueue },
        taskQueueType,
      }),
    );
    const since = Date.now() - quietPollerMs;
    return (pollers ?? []).some(({ lastAccessTime }) => (optionalTsToMs(lastAccessTime) ?? 0) > since);
  } catch {
    return null;
  }
}

/** The activities being retried; none when unknown. */
export async function retriesOf(client: Client, handle: WorkflowHandle): Promise<Retry[]> {
  try {
    return retriesIn(await client.withDeadline(Date.now() + answerWithinMs, () => handle.describe()));
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
  const [answer] = await answersOrNull(client, taskQueue, [null], ask);
  return answer ?? null;
}

/** Like `answerOrNull`, for many queries within the same time; whether a worker polls is asked once. */
export async function answersOrNull<Item, Answer>(
  client: Client,
  taskQueue: string,
  items: readonly Item[],
  ask: (item: Item) => Promise<Answer>,
): Promise<(Answer | null)[]> {
  if (items.length === 0 || (await workerPolls(client, taskQueue)) === false) return items.map(() => null);
  const endsAt = Date.now() + 2 * answerWithinMs;
  return inBatches(items, callsAtOnce, (item) => client.withDeadline(endsAt, () => ask(item)).catch(() => null));
}
