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

/** The first run of a workflow. */
interface Start {
  workflowId: string;
  runId: string;
}

type Starts = Iterable<Start> | AsyncIterable<Start>;

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
  await replayChains(env, started.handles());
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

/** Replays the workflows' runs, each from the first one on, with one worker: starting it takes longer than most replays. */
export async function replayChains(env: TestWorkflowEnvironment, starts: Starts): Promise<void> {
  const options = { workflowBundle: workflowBundle(), debugMode: true };
  for await (const { error } of Worker.runReplayHistories(options, histories(env, starts))) {
    if (error !== undefined) throw error;
  }
}

async function* histories({ client }: TestWorkflowEnvironment, starts: Starts) {
  for await (const { workflowId, runId: first } of starts) {
    let runId: string | undefined = first;
    while (runId !== undefined) {
      const history: History = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      yield { workflowId, history };
      runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
    }
  }
}

/** Notes every workflow that the environment's client starts. */
function recordStarts(env: TestWorkflowEnvironment) {
  const { workflow } = env.client;
  const original = workflow.start;
  const started: Start[] = [];
  const start = async (...args: Parameters<typeof original>): Promise<WorkflowHandle> => {
    const handle = await original.apply(workflow, args);
    started.push({ workflowId: handle.workflowId, runId: handle.firstExecutionRunId });
    return handle;
  };
  Object.assign(workflow, { start });
  return { handles: () => started, stop: () => Object.assign(workflow, { start: original }) };
}
