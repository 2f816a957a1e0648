import { CancelledFailure } from '@temporalio/common';
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
import { isTemporalFailure, permanent, transient } from './history-safe-failures.ts';

/**
 * Attempts (some minutes) after which malformed JSON from the service is final: a bundle may still be in the making. A
 * gateway's page instead of an answer is an outage, which is waited out.
 */
const patientAttempts = 10;

/**
 * The failure a workflow sees for an error of the documentation service: only type and message. `attempt` is that of the
 * activity.
 */
export function serviceFailure(error: unknown, attempt = 1): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof Unauthorized) return permanent('Unauthorized', error.message);
  if (error instanceof PlanRequired) return permanent('PlanRequired', error.message);
  if (error instanceof BadRequest) return permanent('BadRequest', [error.message, ...error.details].join('; '));
  if (error instanceof NotFound) return permanent('NotFound', error.message);
  if (error instanceof NotReady) return transient('NotReady', error.message);
  if (error instanceof RateLimited) return transient('RateLimited', error.message, error.retryAfterMs ?? undefined);
  if (error instanceof ServerError) return transient('ServerError', error.message, error.retryAfterMs ?? undefined);
  if (error instanceof NetworkError) return transient('NetworkError', error.message);
  if (error instanceof MalformedResponse) {
    const lasts = error.wasJson && attempt >= patientAttempts;
    return (lasts ? permanent : transient)('MalformedResponse', error.message);
  }
  if (error instanceof ServiceError) return new CancelledFailure(error.message);
  return error instanceof Error ? error : new Error('unknown failure');
}
