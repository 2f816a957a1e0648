import { Context, log } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { ActivityDependencies } from './dependencies.ts';
import { transient } from './history-safe-failures.ts';

/** Often enough for heartbeat time-outs of a few seconds. */
const beatEveryMs = 1_000;

/**
 * Does `work` with a heartbeat every second, so that a dead worker is noticed quickly and cancellation arrives. Each
 * heartbeat has the latest details, since one without would erase them. A step that succeeds within a second sends
 * none; one that fails sends a last one, with which the next attempt continues.
 */
export async function withHeartbeats<Details, Result>(
  details: () => Details,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(details()), beatEveryMs);
  try {
    return await work(context.cancellationSignal);
  } catch (error) {
    context.heartbeat(details());
    if (!context.cancellationSignal.aborted) throw error;
    if (wasCancelled()) throw new CancelledFailure('cancelled');
    throw transient('WorkerShutdown', 'this attempt was ended, the next one goes on');
  } finally {
    clearInterval(timer);
  }
}

/**
 * Gives Temporal the details before the step goes on: the next attempt has them even if this worker is killed at once. If
 * Temporal does not take them, a later heartbeat brings them.
 */
export async function heartbeatNow(
  { recordHeartbeat }: Pick<ActivityDependencies, 'recordHeartbeat'>,
  details: object,
): Promise<void> {
  const context = Context.current();
  // Takes the place of an older one that waits to be sent, and would come after this one.
  context.heartbeat(details);
  try {
    await recordHeartbeat(context.info.taskToken, details);
  } catch {
    log.info('Temporal has not taken a heartbeat yet');
  }
}

/**
 * Whether a step whose signal is aborted was cancelled, which is final: after a worker's shutdown, a pause or a reset, the
 * next attempt continues.
 */
export function wasCancelled(): boolean {
  return Context.current().cancellationDetails?.cancelRequested ?? true;
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
