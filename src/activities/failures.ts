import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { ArchiveTooLarge, DownloadFailed, LinkExpired, LinkRefused, NoRoom } from '../exports/fetch/presigned-links.ts';
import {
  NoSuchVersion,
  PointerMoved,
  RecordDamaged,
  SigningKeyUnusable,
  StagedChanged,
  StoreBusy,
  StoreNotWritable,
  StoreRefused,
  StoreUnreachable,
  VersionConflict,
  VersionDamaged,
} from '../exports/store/bundle-store.ts';
import { BrowserUnusable } from '../exports/verify/find-browser.ts';
import type { FailureType } from '../rules/errors.ts';
import {
  BadRequest,
  MalformedResponse,
  NetworkError,
  NotFound,
  NotReady,
  PlanRequired,
  RateLimited,
  ServerError,
  ServiceError,
  Unauthorized,
} from '../service/errors.ts';

/** A failure fit for a history: never the original error, which may contain requests, links or content (X1). */
export function permanent(type: FailureType, message: string, details: string[] = []): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true, details });
}

/** Longest delay before a retry, even if the service asks for more: the activity must not time out while waiting. */
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

const unconfigured = { tries: 31, retryInMs: 10_000 };

/** For what this worker's configuration lacks: another worker may have it, or this one soon. Final after five minutes. */
export function notConfigured(type: FailureType, message: string): ApplicationFailure {
  if (activityInfo().attempt >= unconfigured.tries) return permanent(type, message);
  return transient(type, message, unconfigured.retryInMs);
}

/** What a log may say of any error: its message may hold requests, links or content (X1). */
export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');

/** Whether a failure is already fit for a history, so that it passes through. */
export function isTemporalFailure(error: unknown): error is ApplicationFailure | CancelledFailure {
  return error instanceof ApplicationFailure || error instanceof CancelledFailure;
}

/** After so many attempts malformed JSON is final; before that the service may still be writing. HTML means an outage. */
const patientAttempts = 10;

/** What a workflow sees of an error of the service: type and message. `attempt` is that of the activity. */
export function serviceFailure(error: unknown, attempt = 1): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof Unauthorized || error instanceof PlanRequired || error instanceof NotFound) {
    return permanent(error.name, error.message);
  }
  if (error instanceof BadRequest) return permanent('BadRequest', [error.message, ...error.details].join('; '));
  if (error instanceof NotReady || error instanceof NetworkError) return transient(error.name, error.message);
  if (error instanceof RateLimited || error instanceof ServerError) {
    return transient(error.name, error.message, error.retryAfterMs ?? undefined);
  }
  if (error instanceof MalformedResponse) {
    const lasts = error.held === 'JSON' && attempt >= patientAttempts;
    return (lasts ? permanent : transient)('MalformedResponse', error.message);
  }
  if (error instanceof ServiceError) return new CancelledFailure(error.message);
  return error instanceof Error ? error : new Error('unknown failure');
}

/**
 * The failure a workflow sees for an error of the bundle store; null for other errors. What only a person can fix is
 * final; a full disk, credentials about to be renewed and a store that is down are transient.
 */
export function storeFailure(error: unknown): ApplicationFailure | null {
  if (error instanceof VersionConflict || error instanceof StagedChanged || error instanceof VersionDamaged) {
    return permanent('PublishRefused', error.message);
  }
  if (error instanceof SigningKeyUnusable || error instanceof RecordDamaged) {
    return permanent('StoreUnavailable', `${error.message}: ${error.hint}`);
  }
  if (error instanceof NoSuchVersion) return permanent('NotFound', error.message);
  if (error instanceof StoreRefused) {
    const message = `${error.message}: ${error.hint}`;
    return error.mayPass ? transient('StoreUnavailable', message) : permanent('StoreUnavailable', message);
  }
  if (error instanceof StoreUnreachable || error instanceof StoreNotWritable || error instanceof StoreBusy) {
    return transient('StoreUnavailable', error.message);
  }
  return null;
}

/** Like `bundleFailure`, for steps that move the pointer. */
export function publishFailure(error: unknown, domain: string): Error {
  if (error instanceof PointerMoved) {
    return permanent('Superseded', `another run has published ${domain} meanwhile; its version stays current`);
  }
  return bundleFailure(error);
}

/** The failure a workflow sees for an error on the way from a job to a published version. */
export function bundleFailure(error: unknown): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof BrowserUnusable) return permanent('InvalidInput', `${error.message}: ${error.hint}`);
  // Known when it was polled, it has vanished before its bundle was asked for: the workflow starts another (E2).
  if (error instanceof NotFound) return permanent('JobFailed', 'the service no longer knows the job');
  if (error instanceof LinkRefused) return permanent('LinkRefused', error.message);
  if (error instanceof ArchiveTooLarge) return permanent('ArchiveTooLarge', error.message);
  if (error instanceof NoRoom) return transient('StoreUnavailable', error.message);
  if (error instanceof LinkExpired) return transient('DownloadFailed', error.message);
  if (error instanceof DownloadFailed) {
    const { message, retryable, retryAfterMs } = error;
    if (!retryable) return permanent('DownloadFailed', message);
    return transient('DownloadFailed', message, retryAfterMs ?? undefined);
  }
  return storeFailure(error) ?? serviceFailure(error, Context.current().info.attempt);
}
