import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { FailureType } from '../model/failure-types.ts';

/**
 * A failure fit for a history: type and message only, never the original error, which may contain requests, links or
 * content (X1).
 */
export function permanent(type: FailureType, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}

/** Longest delay before a retry, whatever the service asks: the activity must not time out while waiting. */
const longestRetryMs = 15 * 60_000;

/** As `permanent`, for transient failures: Temporal retries, after `retryInMs` if given. */
export function transient(type: FailureType, message: string, retryInMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: false,
    ...(retryInMs === undefined ? {} : { nextRetryDelay: Math.min(retryInMs, longestRetryMs) }),
  });
}

/** Whether a failure is already fit for a history, so that it passes through. */
export function isTemporalFailure(error: unknown): error is ApplicationFailure | CancelledFailure {
  return error instanceof ApplicationFailure || error instanceof CancelledFailure;
}
