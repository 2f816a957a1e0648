import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Workflow, WorkflowResultType } from '@temporalio/common';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { Semaphore } from '../semaphore.ts';
import {
  connectOptions,
  grpc,
  hasCode,
  type Retry,
  retriesIn,
  TemporalUnreachable,
  triedAgain,
} from '../temporal/connection.ts';
import { bulkQueueOf } from '../temporal/rules/failover.ts';
import { callsAtOnce, Detached, inBatches, StillRunning, waitForResult } from '../temporal/runs.ts';
import { CliFailure, exitCodes, type LiveView, type Output, operationFailure, type Step } from './context.ts';
import type { Session } from './session.ts';
import { type Interrupt, onInterrupt } from './terminal/prompts.ts';

/** Temporal lists a poller for minutes after its worker died; a live one polls at least once a minute. */
const quietPollerMs = 80_000;
const pollersWithinMs = 3_000;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY` of Temporal's interface. */
const workflowTasks = 1;
const activityTasks = 2;

/** Whether a worker polls the task queue for workflows, and so answers queries and updates; null when Temporal does not say. */
async function workerPolls(client: Client, taskQueue: string): Promise<boolean | null> {
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
    const { pollers } = await client.withDeadline(Date.now() + pollersWithinMs, () =>
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
async function retriesOf(client: Client, handle: WorkflowHandle): Promise<Retry[]> {
  try {
    return await retriesIn(client, await client.withDeadline(Date.now() + pollersWithinMs, () => handle.describe()));
  } catch {
    return [];
  }
}

/**
 * A worker's answers to queries, all within the same time; null for what none comes to, because no worker is running or it is
 * busy.
 */
export async function answersOrNull<Item, Answer>(
  client: Client,
  taskQueue: string,
  items: readonly Item[],
  ask: (item: Item) => Promise<Answer>,
): Promise<(Answer | null)[]> {
  if (items.length === 0 || (await workerPolls(client, taskQueue)) === false) return items.map(() => null);
  const endsAt = Date.now() + 2 * pollersWithinMs;
  return inBatches(items, callsAtOnce, (item) => client.withDeadline(endsAt, () => ask(item)).catch(() => null));
}

/** A workflow that a command waits for. */
export interface Waiting<W extends Workflow, State> {
  handle: WorkflowHandle<W>;
  /** Starts each line, e.g. the domain. */
  label: string;
  readState: () => Promise<State>;
  stepOf: (state: State) => Step;
  /** A failure that ends the waiting while the workflow continues, e.g. a refused key. */
  troubleOf?: (state: State) => CliFailure | null;
  /** Milliseconds; null waits as long as it takes. */
  timeoutMs: number | null;
  /** Commands for a person who stops waiting. */
  follow: string;
  cancel: string;
}

const lookEveryMs = 10_000;
const answerWithinMs = 5_000;
/** A worker that has not answered for this long is away, not just busy. */
const silentForMs = 8_000;

/**
 * Waits for a workflow and shows its progress; Ctrl-C detaches (contracts.md). Throws the workflow's failure,
 * `TemporalUnreachable`, or a `CliFailure` with exit code 5 when it is still running.
 */
export async function waitShowing<W extends Workflow, State>(
  output: Output,
  session: Session,
  waiting: Waiting<W, State> & { interrupt?: Interrupt | undefined },
): Promise<WorkflowResultType<W>> {
  const { signal, dispose } = waiting.interrupt ?? onInterrupt();
  return waitTogether(output, session, signal, (wait) => wait.until(waiting)).finally(dispose);
}

/** Like `waitShowing`, for work that is shown in one view: what concerns all of it is said once. */
export async function waitTogether<Result>(
  output: Output,
  session: Session,
  interrupted: AbortSignal,
  work: (wait: SharedWait) => Promise<Result>,
): Promise<Result> {
  // Each wait listens for its end.
  setMaxListeners(0, interrupted);
  return output.showing((live) => {
    const workers = watchWorkers(output, session);
    return work(new SharedWait(output, session, interrupted, live)).finally(workers.stop);
  });
}

export class SharedWait {
  readonly live: LiveView;
  readonly #output: Output;
  readonly #session: Session;
  readonly #interrupted: AbortSignal;
  readonly #queries = new Semaphore(callsAtOnce);
  #answeredAt = Date.now();
  /** Since the last answer. */
  #told = { silence: false, reconnecting: false };

  constructor(output: Output, session: Session, interrupted: AbortSignal, live: LiveView) {
    this.#output = output;
    this.#session = session;
    this.#interrupted = interrupted;
    this.live = live;
  }

  /** The result of one of those that are waited for. Throws what `waitShowing` throws. */
  async until<W extends Workflow, State>(waiting: Waiting<W, State>): Promise<WorkflowResultType<W>> {
    const { client, config } = this.#session;
    const { handle, label, timeoutMs, readState, stepOf } = waiting;
    const look = () => this.#queries.use(this.#interrupted, () => retriesOf(client, handle)).catch(() => []);
    const retries = watchRetries(this.#output, look, label);
    try {
      return await waitForResult(client, handle, {
        signal: this.#interrupted,
        ...(timeoutMs === null ? {} : { timeoutMs }),
        readState: () => this.#queries.use(this.#interrupted, () => this.#answer(readState)),
        onState: (state: State) => {
          this.live.show(label, stepOf(state));
          const trouble = waiting.troubleOf?.(state);
          if (trouble) throw trouble;
        },
        onReconnecting: () => {
          if (!this.#told.reconnecting) this.#output.warn('Temporal does not answer, trying again for 60 s');
          this.#told.reconnecting = true;
        },
      });
    } catch (error) {
      if (error instanceof StillRunning) throw stillRunning('StillRunning', `${label} is still running`, waiting);
      if (error instanceof TemporalUnreachable) {
        throw new TemporalUnreachable(connectOptions(config.temporal).connection.address);
      }
      if (error instanceof Detached) throw stillRunning('Detached', `no longer waiting; ${label} goes on`, waiting);
      throw error;
    } finally {
      retries.stop();
    }
  }

  /** Asks a worker, and says once when none answers. */
  async #answer<State>(ask: () => Promise<State>): Promise<State> {
    try {
      const state = await this.#session.client.withDeadline(Date.now() + answerWithinMs, ask);
      this.#answeredAt = Date.now();
      this.#told = { silence: false, reconnecting: false };
      return state;
    } catch (error) {
      if (!this.#told.silence && Date.now() - this.#answeredAt >= silentForMs) {
        this.#told.silence = true;
        this.#output.warn('no worker answers; what runs goes on once one does');
      }
      throw error;
    }
  }
}

function stillRunning(
  code: string,
  message: string,
  { follow, cancel }: { follow: string; cancel: string },
): CliFailure {
  const hint = `follow it with \`${follow}\`, cancel it with \`${cancel}\``;
  return new CliFailure({ code, message, hint, exitCode: exitCodes.stillRunning });
}

/** Says once each when a task queue has no worker, and when it has one again. */
function watchWorkers(output: Output, { client, config }: Session): { stop(): void } {
  const { taskQueue } = config.temporal;
  let lackedBefore: readonly string[] = [];
  return repeatedly(async () => {
    const lacking = await queuesWithoutWorker(client, taskQueue);
    return () => {
      const found = lackedBefore.filter((queue) => lacking?.includes(queue) === false);
      const isNew = lacking?.some((queue) => !lackedBefore.includes(queue));
      if (lacking !== null && isNew) output.warn(`${noWorkerText(lacking)}: ${howToStart(taskQueue, lacking)}`);
      if (found.length > 0) output.note(`a worker polls the task queue ${found.join(' and ')} now`);
      lackedBefore = lacking ?? [];
    };
  });
}

/** Says once that a step of a workflow keeps failing, and why. */
function watchRetries(output: Output, look: () => Promise<Retry[]>, label: string): { stop(): void } {
  let told = '';
  return repeatedly(async () => {
    const [retry] = await look();
    return () => {
      const said = retry && `${retry.paused} ${retry.reason}`;
      if (retry && said !== told) output.warn(`${label}: ${retry.activity} ${triedAgain(retry)}: ${retry.reason}`);
      told = said ?? told;
    };
  });
}

/** Looks now and again until it is stopped; then no look says anything any more. */
function repeatedly(look: () => Promise<() => void>): { stop(): void } {
  let stopped = false;
  const once = async () => {
    const say = await look();
    if (!stopped) say();
  };
  void once();
  const timer = setInterval(() => void once(), lookEveryMs);
  return {
    stop: () => {
      stopped = true;
      clearInterval(timer);
    },
  };
}

/** A busy worker may need this long. */
const workerAnswersWithinMs = 30_000;
/** From here on an answer is late enough to look whether there is a worker at all. */
const lateAnswerMs = 10_000;
const askedAgainMs = 1_000;
/** What the last question leaves Temporal to refuse it: a question cut off by its deadline looks as if no worker answered. */
const refusedWithinMs = 2_000;

/**
 * A worker's answer to a query or update. Throws the failure `NoWorker` when none answers, after 10 s when none polls.
 * While one polls, a refused question is asked again: Temporal refuses it, and admits nothing, once tasks of the workflow
 * have failed or timed out twice in a row, as under a busy worker, until one is completed.
 */
export async function askWorker<Answer>(
  client: Client,
  taskQueue: string,
  ask: () => Promise<Answer>,
  withinMs = workerAnswersWithinMs,
): Promise<Answer> {
  const endsAt = Date.now() + withinMs;
  const givenUp = new AbortController();
  const late = setTimeout(async () => {
    if ((await workerPolls(client, taskQueue)) !== true) givenUp.abort();
  }, lateAnswerMs);
  const again = async (error: unknown): Promise<Answer> => {
    const isLate = Date.now() + askedAgainMs + refusedWithinMs > endsAt;
    if (!isRefused(error) || isLate || (await workerPolls(client, taskQueue)) !== true) throw error;
    await sleep(askedAgainMs);
    return ask().catch(again);
  };
  try {
    return await client.withAbortSignal(givenUp.signal, () => client.withDeadline(endsAt, () => ask().catch(again)));
  } catch (error) {
    // A call whose deadline has passed is cancelled at times, by the library or by the server.
    const isUnanswered = hasCode(error, grpc.deadlineExceeded, grpc.cancelled) || isRefused(error);
    const polls = isUnanswered ? await workerPolls(client, taskQueue) : null;
    // If Temporal itself answers, it was the worker that did not.
    if (polls !== null) throw unanswered(taskQueue, polls && isRefused(error));
    throw givenUp.signal.aborted ? new TemporalUnreachable('the configured address') : error;
  } finally {
    clearTimeout(late);
  }
}

/** Temporal refuses a question when it has seen no worker, or none that completes the workflow's tasks. */
const isRefused = (error: unknown): boolean => hasCode(error, grpc.failedPrecondition);

function unanswered(taskQueue: string, failsTasks: boolean): CliFailure {
  if (!failsTasks) {
    const hint = 'start one with `docferry worker` or `docferry up`';
    return operationFailure('NoWorker', `no worker of the task queue ${taskQueue} answers`, hint);
  }
  const message = `a worker polls the task queue ${taskQueue}, but completes no task of this workflow`;
  return operationFailure('NoWorker', message, 'its log says why; if it was only busy, try again');
}
