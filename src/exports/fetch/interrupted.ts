import { errorCode } from '../../error-code.ts';

/** A transfer stopped; the bytes on disk remain valid. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly retry: 'now' | 'later' | 'never';
  /** How long the store asked to wait, in milliseconds; null when it did not. */
  readonly retryAfterMs: number | null;

  constructor(why: string, retry: 'now' | 'later' | 'never', retryAfterMs: number | null = null) {
    super(why);
    this.retry = retry;
    this.retryAfterMs = retryAfterMs;
  }
}

const neverBetter = /^(ERR_TLS_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

/** Only the code of a network error is kept: its message and fields may contain addresses and headers. */
export function interruption(error: unknown): Interrupted {
  const code = errorCode(error) ?? 'unknown';
  return new Interrupted(`the connection failed (${code})`, neverBetter.test(code) ? 'never' : 'now');
}
