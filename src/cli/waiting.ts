import type { WorkflowHandle } from '@temporalio/client';
import type { Workflow, WorkflowResultType } from '@temporalio/common';
import { triedAgain } from '../temporal/retries.ts';
import { TemporalUnreachable } from '../temporal/temporal-connection.ts';
import { Detached, StillRunning, waitForResult } from '../temporal/wait-for-result.ts';
import { CliFailure } from './cli-failure.ts';
import { exitCodes } from './exit-codes.ts';
import type { LiveView, Step } from './terminal/live-lines.ts';
import type { Output } from './terminal/output.ts';
import { type Interrupt, onInterrupt } from './terminal/signals.ts';
import type { Session } from './session.ts';
import { howToStart, noWorkerText, queuesWithoutWorker, retriesOf } from './worker-watch.ts';

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
  /** Set before the start, so that a Ctrl-C during the start detaches too. */
  interrupt?: Interrupt | undefined;
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
  waiting: Waiting<W, State>,
): Promise<WorkflowResultType<W>> {
  const interrupt = waiting.interrupt ?? onInterrupt();
  const live = await output.startLive();
  try {
    return await waitInView(output, session, live, waiting, interrupt.signal);
  } finally {
    live.end();
    interrupt.dispose();
  }
}

/** Like `waitShowing`, in a view that others share. */
export async function waitInView<W extends Workflow, State>(
  output: Output,
  { client, config }: Session,
  live: LiveView,
  waiting: Waiting<W, State>,
  interrupted: AbortSignal,
): Promise<WorkflowResultType<W>> {
  const { handle, label, timeoutMs, readState, stepOf } = waiting;
  const watch = watchTroubles(output, { client, config }, handle, label);
  let reconnecting = false;
  try {
    return await waitForResult(client, handle, {
      signal: interrupted,
      ...(timeoutMs === null ? {} : { timeoutMs }),
      readState: answering(
        () => client.withDeadline(Date.now() + answerWithinMs, readState),
        () => output.warn(`${label}: no worker answers; it goes on once one does`),
      ),
      onState: (state: State) => {
        reconnecting = false;
        live.show(label, stepOf(state));
        const trouble = waiting.troubleOf?.(state);
        if (trouble) throw trouble;
      },
      onReconnecting: () => {
        if (!reconnecting) output.warn(`${label}: Temporal does not answer, trying again for 60 s`);
        reconnecting = true;
      },
    });
  } catch (error) {
    if (error instanceof StillRunning) throw stillRunning('StillRunning', `${label} is still running`, waiting);
    if (error instanceof TemporalUnreachable) throw new TemporalUnreachable(config.temporal.address);
    if (error instanceof Detached) throw stillRunning('Detached', `no longer waiting; ${label} goes on`, waiting);
    throw error;
  } finally {
    watch.stop();
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

/** Asks, and says once when no worker answers. */
function answering<State>(ask: () => Promise<State>, onSilence: () => void): () => Promise<State> {
  let answeredAt = Date.now();
  let told = false;
  return async () => {
    try {
      const state = await ask();
      answeredAt = Date.now();
      told = false;
      return state;
    } catch (error) {
      if (!told && Date.now() - answeredAt >= silentForMs) {
        told = true;
        onSilence();
      }
      throw error;
    }
  };
}

/** Says once each what holds a workflow up: no worker, or a step that keeps failing. */
function watchTroubles(
  output: Output,
  { client, config }: Session,
  handle: WorkflowHandle,
  label: string,
): { stop(): void } {
  const { taskQueue } = config.temporal;
  let stopped = false;
  let lackedBefore: readonly string[] = [];
  let told = '';
  const look = async () => {
    const lacking = await queuesWithoutWorker(client, taskQueue);
    const [retry] = await retriesOf(client, handle);
    if (stopped) return;
    if (lacking !== null) {
      const fresh = lacking.filter((queue) => !lackedBefore.includes(queue));
      if (fresh.length > 0) output.warn(`${noWorkerText(lacking)}: ${howToStart(taskQueue, lacking)}`);
      const found = lackedBefore.filter((queue) => !lacking.includes(queue));
      if (found.length > 0) output.note(`a worker polls the task queue ${found.join(' and ')} now`);
    }
    lackedBefore = lacking ?? [];
    if (retry && retry.reason !== told) {
      output.warn(`${label}: ${retry.activity} failed and is ${triedAgain(retry)}: ${retry.reason}`);
    }
    told = retry?.reason ?? told;
  };
  void look();
  const timer = setInterval(() => void look(), lookEveryMs);
  return {
    stop: () => {
      stopped = true;
      clearInterval(timer);
    },
  };
}
