import { setTimeout as sleep } from 'node:timers/promises';
import { Context, log } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { BundleStore } from '../exports/store/bundle-store.ts';
import type { FailureType } from '../rules/errors.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** Often enough for heartbeat time-outs of a few seconds. */
const beatEveryMs = 1_000;
/** An accepted heartbeat counts for so long, so that changes that follow one another at once cost one. */
const acceptedForMs = 50;
/** While Temporal does not answer, an attempt asks so often. */
const [firstAskMs, laterAskMs] = [100, 1_000];
/** The SDK learns of a cancellation with its own next heartbeat, at the latest after this. */
const cancelledWithinMs = 15_000;

/**
 * Does `work` with a heartbeat every second, so that a dead worker is noticed quickly and cancellation arrives. Each
 * heartbeat has the latest details, since one without would erase them. A step that succeeds within a second and changes
 * nothing sends none; one that fails sends a last one, with which the next attempt continues. The signal also ends work
 * that Temporal has given up (`whileMine`).
 */
export async function withHeartbeats<Details, Result>(
  details: () => Details,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const attempt = attemptOf(context);
  attempt.details = details;
  const timer = setInterval(() => attempt.beat(), beatEveryMs);
  try {
    return await work(attempt.signal);
  } catch (error) {
    attempt.beat();
    if (!attempt.signal.aborted) throw error;
    throw wasCancelled() ? new CancelledFailure('cancelled') : endedEarly();
  } finally {
    clearInterval(timer);
  }
}

/** The next attempt goes on. */
const transient = (type: FailureType, message: string) => ApplicationFailure.retryable(message, type);

/** An attempt ends if it cannot learn whether Temporal still wants it: asking again would not help. */
const refused = (): never => {
  throw transient('HeartbeatRefused', "Temporal refuses this worker's heartbeats: check its permissions and codec");
};

const endedEarly = () => transient('WorkerShutdown', 'this attempt was ended, the next one goes on');

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
  async confirm({ recordHeartbeat }: Pick<ActivityDependencies, 'recordHeartbeat'>): Promise<void> {
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

function attemptOf(context: Context): Attempt {
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

/**
 * Resolves if Temporal still counts on this attempt: a heartbeat was accepted a moment ago. Throws when Temporal has given
 * it up (cancelled, terminated, reset, timed out, paused). While Temporal does not answer, neither is known: waits until it
 * does, or a time-out ends the attempt. An activity within a workflow task is short, and goes on.
 */
export async function stillMine(deps: Pick<ActivityDependencies, 'recordHeartbeat'>): Promise<void> {
  const context = Context.current();
  if (!context.info.isLocal) await attemptOf(context).confirm(deps);
}

/** What changes nothing in the bundle store. */
const bundleReaders: (keyof BundleStore)[] = [
  'stagingFile',
  'staged',
  'current',
  'manifest',
  'versions',
  'withArchive',
  'urlOf',
  'verificationKeys',
  'rolledOut',
  'observed',
  'inService',
  'domains',
  'inventory',
  'open',
  'checkWritable',
];

/**
 * The same dependencies for activities: an attempt changes something outside only while it is `stillMine`, which is asked
 * immediately before each change (E11). The last word on the pointer is asked within its move, that on a target by the guard of its step.
 */
export function whileMine(deps: ActivityDependencies): ActivityDependencies {
  const confirm = () => stillMine(deps);
  const { bundles, organizations, feedback, permits, deliver, postponeRefresh } = deps;
  return {
    ...deps,
    bundles: confirming(bundles, except(bundleReaders), confirm, {
      holds: confirming(bundles.holds, except(['of']), confirm),
      moveCurrent: (domain, version, epoch, at) =>
        bundles.moveCurrent(domain, version, epoch, at, { since: stepScheduledAt(), confirm }),
    }),
    feedback: confirming(feedback, except(feedback.readers), confirm),
    permits: confirming(permits, (name) => name === 'ask', confirm),
    async deliver(delivery) {
      await confirm();
      await deliver(delivery);
    },
    async postponeRefresh(org, at) {
      await confirm();
      await postponeRefresh(org, at);
    },
    organizations: organizations.map((organization) => ({
      ...organization,
      service: confirming(organization.service, (name) => name === 'startExportJob', confirm),
    })),
  };
}

/** Selects all methods but these: a store's new method needs confirmation until it is listed as one that only reads. */
const except =
  (readers: readonly string[]) =>
  (name: string): boolean =>
    !readers.includes(name);

/** The same object, except that `confirm` comes before each method that `asks` selects, and that `replaced` parts differ. */
function confirming<T extends object>(
  what: T,
  asks: (name: string) => boolean,
  confirm: () => Promise<void>,
  replaced: Partial<T> = {},
): T {
  return new Proxy(what, {
    get(_, name) {
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof T];
      const value: unknown = Reflect.get(what, name, what);
      if (typeof value !== 'function') return value;
      if (!asks(String(name))) return value.bind(what);
      return async (...args: unknown[]) => {
        await confirm();
        return value.apply(what, args);
      };
    },
  });
}

/**
 * From a reset on, attempts of the run before it move the site's pointer no more: their steps were scheduled earlier. The
 * first run of an execution needs no claim, since nothing of it went on before. `stageId` is that run's.
 */
export async function claimSite(
  { bundles }: Pick<ActivityDependencies, 'bundles'>,
  { domain, stageId }: { domain: string; stageId: string },
): Promise<void> {
  if (Context.current().info.workflowExecution?.runId !== stageId) await bundles.claim(domain, stepScheduledAt());
}

/** When Temporal first scheduled the step, by its clock: the same for every attempt. */
const stepScheduledAt = () => new Date(Context.current().info.scheduledTimestampMs);

/** Whether the step was aborted because of a cancellation, which is final: after any other end another attempt continues. */
function wasCancelled(): boolean {
  const { cancellationDetails } = Context.current();
  if (cancellationDetails) return cancellationDetails.cancelRequested;
  return attemptOf(Context.current()).signal.reason instanceof CancelledFailure;
}

/** Whether this worker shuts down: Temporal still counts on what the attempt returns now. */
export function isShuttingDown(): boolean {
  return Context.current().cancellationDetails?.workerShutdown ?? false;
}

/** Details of the previous attempt, or `fallback` if there are none or their shape differs. */
export function earlierDetails<Details extends object>(fallback: Details): Details {
  const details: unknown = Context.current().info.heartbeatDetails;
  if (typeof details !== 'object' || details === null) return fallback;
  const known = Object.keys(fallback).every(
    (key) => typeof (details as Record<string, unknown>)[key] === typeof fallback[key as keyof Details],
  );
  return known ? (details as Details) : fallback;
}
