import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { transient } from './failures.ts';

/** Beats often enough for a heartbeat time-out of a few seconds to find a dead worker. */
const beatEveryMs = 1_000;

/**
 * Runs `work` with a heartbeat every second that carries the latest details, so that a dead worker is noticed quickly
 * and cancellation arrives. A heartbeat without details would erase earlier ones: they are sent every time.
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
    if (!context.cancellationSignal.aborted) throw error;
    // A person's cancellation is final; a worker that shuts down, a pause and a reset hand the work to the next attempt.
    const { cancelRequested = true } = context.cancellationDetails ?? {};
    if (cancelRequested) throw new CancelledFailure('cancelled');
    throw transient('WorkerShutdown', 'this attempt was ended, the next one goes on');
  } finally {
    clearInterval(timer);
    context.heartbeat(details());
  }
}

/** Details of the attempt before, or the given ones when there are none or they have another shape. */
export function earlierDetails<Details extends object>(fallback: Details): Details {
  const details: unknown = Context.current().info.heartbeatDetails;
  if (typeof details !== 'object' || details === null) return fallback;
  const known = Object.keys(fallback).every(
    (key) => typeof (details as Record<string, unknown>)[key] === typeof fallback[key as keyof Details],
  );
  return known ? (details as Details) : fallback;
}
