import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { FailureType } from '../rules/failure-types.ts';

/**
 * A failure fit for a history: type and message only, never the original error, which may contain requests, links or
 * content (X1).
 */
export function permanent(type: FailureType, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}

/** Longest delay before a retry, whatever the service asks: the activity must not time out while waiting. */
const longestRetryMs = 15 * 60_000;

/** Like `permanent`, for transient failures: Temporal retries, after `retryInMs` if given. */
export function transient(type: FailureType, message: string, retryInMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: false,
    ...(retryInMs === undefined ? {} : { nextRetryDelay: Math.min(retryInMs, longestRetryMs) }),
  });
}

/** One try every ten seconds for five minutes. */
const unconfigured = { tries: 31, retryInMs: 10_000 };

/**
 * What this worker's configuration lacks. Another worker may have it, or this one after a restart: tried again for five
 * minutes, then permanent.
 */
export function notConfigured(type: FailureType, message: string): ApplicationFailure {
  if (activityInfo().attempt >= unconfigured.tries) return permanent(type, message);
  return transient(type, message, unconfigured.retryInMs);
}

/** Whether a failure is already fit for a history, so that it passes through. */
export function isTemporalFailure(error: unknown): error is ApplicationFailure | CancelledFailure {
  return error instanceof ApplicationFailure || error instanceof CancelledFailure;
}
