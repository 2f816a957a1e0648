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
import { isTemporalFailure, permanent, transient } from './failures.ts';

/** The failure a workflow sees for an error of the documentation service: type and message, nothing else. */
export function serviceFailure(error: unknown): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof Unauthorized) return permanent('Unauthorized', error.message);
  if (error instanceof PlanRequired) return permanent('PlanRequired', error.message);
  if (error instanceof BadRequest) return permanent('BadRequest', [error.message, ...error.details].join('; '));
  if (error instanceof NotFound) return permanent('NotFound', error.message);
  if (error instanceof NotReady) return transient('NotReady', error.message);
  if (error instanceof RateLimited) return transient('RateLimited', error.message, error.retryAfterMs ?? undefined);
  if (error instanceof ServerError) return transient('ServerError', error.message, error.retryAfterMs ?? undefined);
  if (error instanceof NetworkError) return transient('NetworkError', error.message);
  if (error instanceof MalformedResponse) return transient('MalformedResponse', error.message);
  if (error instanceof ServiceError) return new CancelledFailure(error.message);
  return error instanceof Error ? error : new Error('unknown failure');
}
