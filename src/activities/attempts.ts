import { setTimeout as sleep } from 'node:timers/promises';
import { Context, log } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { FailureType } from '../rules/errors.ts';

/** What Temporal answers to a heartbeat; `over`: paused, reset, timed out, or the run is gone. */
export type HeartbeatAnswer = 'accepted' | 'cancelled' | 'over' | 'unreachable';

interface HeartbeatRecorder {
  recordHeartbeat(taskToken: Uint8Array, details: unknown): Promise<HeartbeatAnswer>;
}

/** An accepted heartbeat counts for so long, so that changes that follow one another at once cost one. */
const acceptedForMs = 50;
/** While Temporal does not answer, an attempt asks so often. */
const [firstAskMs, laterAskMs] = [100, 1_000];
/** The SDK learns of a cancellation with its own next heartbeat, at the latest after this. */
const cancelledWithinMs = 15_000;

/** The next attempt goes on. */
const transient = (type: FailureType, message: string) => ApplicationFailure.retryable(message, type);

/** An attempt ends if it cannot learn whether Temporal still wants it: asking again would not help. */
const refused = (): never => {
  throw transient('HeartbeatRefused', "Temporal refuses this worker's heartbeats: check its permissions and codec");
};

/** After any end but a cancellation the next attempt goes on. */
export const endedEarly = () => transient('WorkerShutdown', 'this attempt was ended, the next one goes on');

/** One attempt of an activity on this worker, and how it stands with Temporal. */
class Attempt {
  /** What the next attempt goes on from: by default what this one was given. */
  details: () => unknown;
  /** Aborted by the SDK, and as soon as Temporal has given up the attempt. */
  readonly signal: AbortSignal;
  readonly #context: Context;
  readonly #failures: Record<string, number>;
  readonly #givenUp = new AbortController();
  #hasBeaten = false;
  #accepted = { at: Number.NEGATIVE_INFINITY, details: '' };

  constructor(context: Context) {
    this.#context = context;
    this.#failures = { ...earlierDetails<{ failures: Record<string, number> }>({ failures: {} }).failures };
    this.details = () => context.info.heartbeatDetails;
    this.signal = AbortSignal.any([context.cancellationSignal, this.#givenUp.signal]);
  }

  beat(): void {
    this.#hasBeaten = true;
    this.#context.heartbeat(this.#latest());
  }

  failedBy(cause: string): number {
    const times = (this.#failures[cause] ?? 0) + 1;
    this.#failures[cause] = times;
    // No heartbeat leaves an activity within a workflow task, which is tried once.
    if (!this.#context.info.isLocal) this.beat();
    return times;
  }

  #latest(): unknown {
    const details = this.details();
    if (Object.keys(this.#failures).length === 0) return details;
    return { ...(details as object | undefined), failures: this.#failures };
  }

  /** Resolves once Temporal has accepted a heartbeat with the latest details; throws when the attempt is over. */
  async confirm({ recordHeartbeat }: HeartbeatRecorder): Promise<void> {
    for (let waitMs = firstAskMs; ; waitMs = Math.min(laterAskMs, waitMs * 2)) {
      this.signal.throwIfAborted();
      const [details, at] = [this.#latest(), performance.now()];
      const text = JSON.stringify(details) ?? '';
      if (text === this.#accepted.details && at - this.#accepted.at < acceptedForMs) return;
      // Takes the place of an older one that waits to be sent, and would come after this one.
      if (this.#hasBeaten) this.beat();
      const answer = await recordHeartbeat(this.#context.info.taskToken, details).catch(refused);
      if (answer === 'accepted') {
        this.#accepted = { at, details: text };
        return;
      }
      if (answer === 'unreachable') {
        if (waitMs === firstAskMs) log.info('Temporal does not answer: the attempt changes nothing until it does');
        await sleep(waitMs, undefined, { signal: this.signal });
        continue;
      }
      if (answer === 'cancelled') await this.#cancelledBySdk();
      this.#givenUp.abort(answer === 'cancelled' ? new CancelledFailure('cancelled') : endedEarly());
    }
  }

  /** The SDK reports an attempt as cancelled only if it knows of the cancellation itself. */
  async #cancelledBySdk(): Promise<void> {
    this.beat();
    await sleep(cancelledWithinMs, undefined, { signal: this.#context.cancellationSignal }).catch(() => {});
  }
}

const attempts = new WeakMap<Context, Attempt>();

/** The attempt that this code runs in. */
export function attemptOf(context: Context): Attempt {
  const attempt = attempts.get(context) ?? new Attempt(context);
  attempts.set(context, attempt);
  return attempt;
}

/** A heartbeat beside those of `withHeartbeats`, with the same details. */
export const beat = (): void => attemptOf(Context.current()).beat();

/**
 * Counts a failure of this attempt, and returns how many attempts of the step have failed for this cause. Heartbeats carry
 * the counts: the number of the attempt would count an outage of something else too.
 */
export const failedBy = (cause: string): number => attemptOf(Context.current()).failedBy(cause);

/** Details of the previous attempt, or `fallback` if there are none or their shape differs. */
export function earlierDetails<Details extends object>(fallback: Details): Details {
  const details: unknown = Context.current().info.heartbeatDetails;
  if (typeof details !== 'object' || details === null) return fallback;
  const known = Object.keys(fallback).every(
    (key) => typeof (details as Record<string, unknown>)[key] === typeof fallback[key as keyof Details],
  );
  return known ? (details as Details) : fallback;
}
