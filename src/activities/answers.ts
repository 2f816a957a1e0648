import type { Refusal } from '../budget/lease.ts';
import { RateLimited, ServiceError, Unauthorized } from '../service/errors.ts';

/** A full window or a refused key, for which the whole organization must wait. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof RateLimited) return { throttled: { retryAfterMs: error.retryAfterMs } };
  return error instanceof Unauthorized ? { unauthorized: true } : undefined;
}

/** Whether the service answered, so that the request has arrived. Lost and aborted ones may still be on their way. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ServiceError && error.kind !== 'NetworkError' && error.kind !== 'Aborted';
}
