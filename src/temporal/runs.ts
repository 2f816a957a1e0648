import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionInfo,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { TerminatedFailure, type Workflow, type WorkflowResultType } from '@temporalio/common';
import { type ScheduleTarget, searchAttributes, targetOfWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { isOutage, TemporalUnreachable } from './connection.ts';

/** The time to wait ran out; the workflow continues. */
export class StillRunning extends Error {
  override readonly name = 'StillRunning';
}

/** The person stopped waiting (Ctrl-C); the workflow continues. */
export class Detached extends Error {
  override readonly name = 'Detached';
}

interface WaitOptions<State> {
  /** Longest time to wait in milliseconds; absent: no limit. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Called about every second while waiting; failures are ignored. */
  readState?: () => Promise<State>;
  onState?: (state: State) => void;
  onReconnecting?: () => void;
}

const readEveryMs = 1_000;
/** How long Temporal may be away during a wait (contracts.md). */
const reconnectForMs = 60_000;

/** Waits for a result over all runs. Throws `TemporalUnreachable`, `StillRunning`, `Detached`, its own failure. */
export async function waitForResult<W extends Workflow, State>(
  client: Client,
  handle: WorkflowHandle<W>,
  options: WaitOptions<State>,
): Promise<WorkflowResultType<W>> {
  const stop = new AbortController();
  const result = resultThroughOutages(client, handle, options, stop.signal);
  // A rejection after the race below must not be unhandled.
  result.catch(() => {});
  try {
    return await Promise.race([result, watch(options, stop.signal), limit(options, stop.signal)]);
  } finally {
    stop.abort();
  }
}

async function resultThroughOutages<W extends Workflow, State>(
  client: Client,
  handle: WorkflowHandle<W>,
  options: WaitOptions<State>,
  stop: AbortSignal,
): Promise<WorkflowResultType<W>> {
  let awaySince: number | null = null;
  for (;;) {
    try {
      // Without the signal, at which the library would leave a listener for every request.
      return await resultAfterResets(client, handle);
    } catch (error) {
      if (stop.aborted || error instanceof WorkflowNotFoundError || !isOutage(error)) throw error;
      awaySince ??= performance.now();
      if (performance.now() - awaySince >= reconnectForMs) throw new TemporalUnreachable('the configured address');
      options.onReconnecting?.();
      await sleep(readEveryMs, undefined, { signal: stop }).catch(() => {});
      if (await answers(client)) awaySince = null;
    }
  }
}

/** The result; where an operator resets the run, that of the run which goes on, at which the library does not look. */
async function resultAfterResets<W extends Workflow>(
  client: Client,
  handle: WorkflowHandle<W>,
): Promise<WorkflowResultType<W>> {
  const { workflowId } = handle;
  let awaited = { result: () => handle.result(), runId: '' };
  for (;;) {
    try {
      return await awaited.result();
    } catch (error) {
      if (!(error instanceof WorkflowFailedError && error.cause instanceof TerminatedFailure)) throw error;
      const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
      // The run after a reset, unlike one that was started later, is not the first of its chain.
      if (runId === awaited.runId || runId === raw.workflowExecutionInfo?.firstRunId) throw error;
      const next = client.workflow.getHandle<W>(workflowId, runId);
      awaited = { result: () => next.result(), runId };
    }
  }
}

async function watch<State>(options: WaitOptions<State>, stop: AbortSignal): Promise<never> {
  while (!stop.aborted) {
    const state = await stateNow(options);
    if (state !== undefined && !stop.aborted) options.onState?.(state);
    await sleep(readEveryMs, undefined, { signal: stop }).catch(() => {});
  }
  return new Promise<never>(() => {});
}

/** Undefined when the state cannot be read now; the result shows lasting failures. */
async function stateNow<State>({ readState }: WaitOptions<State>): Promise<State | undefined> {
  try {
    return await readState?.();
  } catch {
    return undefined;
  }
}

function limit<State>({ timeoutMs, signal }: WaitOptions<State>, stop: AbortSignal): Promise<never> {
  return new Promise<never>((_, reject) => {
    const detach = () => reject(new Detached('stopped waiting'));
    if (signal?.aborted) detach();
    signal?.addEventListener('abort', detach, { signal: stop });
    if (timeoutMs === undefined) return;
    const timer = setTimeout(() => reject(new StillRunning('still running')), timeoutMs);
    stop.addEventListener('abort', () => clearTimeout(timer));
  });
}

async function answers(client: Client): Promise<boolean> {
  try {
    await client.withDeadline(Date.now() + readEveryMs, () => client.workflowService.getSystemInfo({}));
    return true;
  } catch {
    return false;
  }
}

/** Calls to the server at a time. */
export const callsAtOnce = 16;

/**
 * Does the work for all items, at most `size` at a time: a slow one holds up no other. Results are in the order of the
 * items. Once one has failed no other begins; it throws that failure when all that had begun have ended.
 */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  size: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const failures: unknown[] = [];
  const lane = async () => {
    for (const [index, item] of left) {
      if (failures.length > 0) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(size, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}

const againAfterMs = 5_000;

/** Does the work for every item, a few at a time, and repeats what failed until all is done or the worker stops. */
export async function untilAllDone<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  { onFailure, stopped }: { onFailure(item: Item, error: unknown): void; stopped(): boolean },
  waitMs = againAfterMs,
): Promise<void> {
  const succeeds = async (item: Item) => {
    if (stopped()) return false;
    try {
      await work(item);
      return true;
    } catch (error) {
      if (!stopped()) onFailure(item, error);
      return false;
    }
  };
  for (let left = [...items]; left.length > 0 && !stopped(); ) {
    const done = await inBatches(left, callsAtOnce, succeeds);
    left = left.filter((_, index) => !done[index]);
    if (left.length > 0) await sleep(waitMs, undefined, { ref: false });
  }
}

/** An export, a rollback or a sync that runs, as Temporal lists it. */
export interface RunningWork {
  workflowId: string;
  runId: string;
  target: ScheduleTarget;
  /** Name of the workflow, e.g. `exportSite`. */
  type: string;
  startedAt: Date;
  /** `DocferryPhase`; null when it has none yet. */
  phase: string | null;
}

/** Exports, rollbacks and syncs that run, from Temporal's list, a moment behind: a request for each thousand. */
export async function runningWork(client: Client, taskQueue: string): Promise<RunningWork[]> {
  const { exportSite, rollBack, syncFeedback } = workflowTypes;
  const query = `ExecutionStatus = 'Running' AND WorkflowType IN ('${exportSite}', '${rollBack}', '${syncFeedback}')`;
  const running: RunningWork[] = [];
  for await (const listed of client.workflow.list({ query })) {
    const { workflowId, runId, type, startTime: startedAt } = listed;
    const target = targetOfWorkflowId(workflowId);
    if (target && listed.taskQueue === taskQueue) {
      running.push({ workflowId, runId, target, type, startedAt, phase: phaseOf(listed) });
    }
  }
  return running;
}

function phaseOf({ typedSearchAttributes }: WorkflowExecutionInfo): string | null {
  const phase = typedSearchAttributes.getAll().find(({ key }) => key.name === searchAttributes.phase);
  return phase === undefined ? null : String(phase.value);
}

/** What runs may end at the moment it is met, and a schedule may start the next. */
const tries = 5;

/** What `start` starts under this id; null when a workflow runs under it. */
export async function startUnlessRunning<Handle>(
  client: Client,
  workflowId: string,
  start: () => Promise<Handle>,
): Promise<Handle | null> {
  for (let left = tries; ; left -= 1) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError) || left <= 1) throw error;
      const { status } = await client.workflow.getHandle(workflowId).describe();
      if (status.name === 'RUNNING') return null;
    }
  }
}
