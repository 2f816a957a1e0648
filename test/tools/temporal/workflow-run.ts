import type { WorkflowHandle } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { Activities } from '../../../src/activities/index.ts';
import { bulkQueueOf, checksQueueOf, urgentQueueOf } from '../../../src/temporal/rules/failover.ts';
import { workflowBundle } from './temporal.ts';

/** Gives each test a task queue of its own on a shared server. */
let queues = 0;

interface WorkflowRun {
  taskQueue: string;
}

/**
 * Runs `test` beside a worker with these activities, then replays the whole chain of every workflow it started, so
 * that no test passes with a workflow that cannot be replayed (X2).
 */
export async function withWorker(
  env: TestWorkflowEnvironment,
  activities: Partial<Activities>,
  test: (run: WorkflowRun) => Promise<void>,
): Promise<void> {
  queues += 1;
  const taskQueue = `test-${process.pid}-${queues}`;
  const common = { connection: env.nativeConnection, namespace: env.namespace ?? 'default', activities };
  // `debugMode` runs workflows in this thread, which loads them in a third of the time.
  const workflows = { workflowBundle: workflowBundle(), debugMode: true };
  const worker = await Worker.create({ ...common, ...workflows, taskQueue });
  // Without activities a worker has nothing to do there.
  const beside: Worker[] = [];
  if (Object.keys(activities).length > 0) {
    for (const queueOf of [bulkQueueOf, checksQueueOf, urgentQueueOf]) {
      beside.push(await Worker.create({ ...common, taskQueue: queueOf(taskQueue) }));
    }
  }
  const started = recordStarts(env);
  try {
    await beside.reduce((run, other) => other.runUntil(run), worker.runUntil(test({ taskQueue })));
  } finally {
    started.stop();
  }
  for (const handle of started.handles()) await replayChain(env, handle);
}

/**
 * Waits for the workflows that this one has started, before their worker stops: with a step unfinished the time-skipping
 * server skips no more time.
 */
export async function untilChildrenEnd({ client }: TestWorkflowEnvironment, handle: WorkflowHandle): Promise<void> {
  const { events } = await handle.fetchHistory();
  for (const event of events ?? []) {
    const { workflowId } = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution ?? {};
    if (workflowId) await client.workflow.getHandle(workflowId).result();
  }
}

/** Replays a workflow's runs from the first one on. */
export async function replayChain(
  env: TestWorkflowEnvironment,
  id: { workflowId: string; runId: string },
): Promise<void> {
  let runId: string | undefined = id.runId;
  while (runId !== undefined) {
    const history: History = await env.client.workflow.getHandle(id.workflowId, runId).fetchHistory();
    await Worker.runReplayHistory({ workflowBundle: workflowBundle() }, history, id.workflowId);
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
}

/** Notes every workflow that the environment's client starts. */
function recordStarts(env: TestWorkflowEnvironment) {
  const { workflow } = env.client;
  const original = workflow.start;
  const started: { workflowId: string; runId: string }[] = [];
  const start = async (...args: Parameters<typeof original>): Promise<WorkflowHandle> => {
    const handle = await original.apply(workflow, args);
    started.push({ workflowId: handle.workflowId, runId: handle.firstExecutionRunId });
    return handle;
  };
  Object.assign(workflow, { start });
  return { handles: () => started, stop: () => Object.assign(workflow, { start: original }) };
}
