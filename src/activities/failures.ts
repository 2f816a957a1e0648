import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { FailureType } from '../model/failure-types.ts';

/**
 * A failure as it may stand in a history: type and message only, never the original error, which may hold requests,
 * links or content (X1).
 */
export function permanent(type: FailureType, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}

/** A service that names a time far away is asked again before: the activity's own time must not end while waiting. */
const longestRetryMs = 15 * 60_000;

/** As `permanent`, for what may pass: Temporal tries again, after `retryInMs` where that is known. */
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

/** Failures that are made for a history already: they pass through as they are. */
export function isTemporalFailure(error: unknown): error is ApplicationFailure | CancelledFailure {
  return error instanceof ApplicationFailure || error instanceof CancelledFailure;
}
