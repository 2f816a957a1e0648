/** Kinds of failed calls to the documentation service; stable, used as failure types. */
export type ServiceErrorKind =
  | 'Unauthorized'
  | 'PlanRequired'
  | 'BadRequest'
  | 'NotFound'
  | 'NotReady'
  | 'RateLimited'
  | 'ServerError'
  | 'NetworkError'
  | 'MalformedResponse'
  | 'Aborted';

/** A failed call. Only text that may be shown and logged (X1): no request, URL, body, and so no `cause`. */
export abstract class ServiceError extends Error {
  abstract override readonly name: ServiceErrorKind;
  /** What a person can do about it; null when waiting is all. */
  readonly hint: string | null;

  constructor(message: string, hint: string | null) {
    super(message);
    this.hint = hint;
  }
}

/** 401: the API key is missing, wrong or revoked. */
export class Unauthorized extends ServiceError {
  override readonly name = 'Unauthorized';
}

/** 403: the organization's plan (or the key) does not cover the operation. */
export class PlanRequired extends ServiceError {
  override readonly name = 'PlanRequired';
}

/** 400 and all other 4xx without their own class: repeating the request will not help. */
export class BadRequest extends ServiceError {
  override readonly name = 'BadRequest';
  /** `details[].message` of the analytics error response; empty when the service gave none. */
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = [], hint: string | null = null) {
    super(message, hint);
    this.details = details;
  }
}

/** 404: no such project or job. */
export class NotFound extends ServiceError {
  override readonly name = 'NotFound';
}

/** 409: the bundle was asked for before the job completed, or a job is in the way of another. */
export class NotReady extends ServiceError {
  override readonly name = 'NotReady';
}

/** 429: the organization's window is full. */
export class RateLimited extends ServiceError {
  override readonly name = 'RateLimited';
  /** How long the service asks to wait, 0 to 24 h in milliseconds; null when it does not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null) {
    super(message, null);
    this.retryAfterMs = retryAfterMs;
  }
}

/** 5xx, 408 and 425: the service or a gateway has a problem; asking again later may help. */
export class ServerError extends ServiceError {
  override readonly name = 'ServerError';
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(message: string, status: number, retryAfterMs: number | null) {
    super(message, null);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No complete answer came. */
export class NetworkError extends ServiceError {
  override readonly name = 'NetworkError';
  /** False only when no byte of the request left this process. */
  readonly mayHaveArrived: boolean;
  /** Short code of what happened, e.g. `ECONNREFUSED`. */
  readonly code: string;

  constructor(message: string, code: string, mayHaveArrived: boolean, hint: string | null = null) {
    super(message, hint);
    this.code = code;
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** A complete answer that does not follow the interface: a redirect, no JSON, a missing field, too long. */
export class MalformedResponse extends ServiceError {
  override readonly name = 'MalformedResponse';
  /** What a complete 2xx answer held: anything but HTML comes from the service itself, not a gateway; null for others. */
  readonly held: 'JSON' | 'HTML' | 'an empty answer' | 'something else' | null;

  constructor(message: string, hint: string | null = null, held: MalformedResponse['held'] = null) {
    super(message, hint);
    this.held = held;
  }
}

/** The caller's own signal ended the call. */
export class Aborted extends ServiceError {
  override readonly name = 'Aborted';
  readonly mayHaveArrived: boolean;

  constructor(mayHaveArrived: boolean) {
    super('the call was cancelled', null);
    this.mayHaveArrived = mayHaveArrived;
  }
}
