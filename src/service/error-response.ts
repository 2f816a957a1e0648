import { readRetryAfter } from '../budget/rules/retry-after.ts';
import {
  BadRequest,
  MalformedResponse,
  NotFound,
  NotReady,
  PlanRequired,
  RateLimited,
  ServerError,
  type ServiceError,
  Unauthorized,
} from './errors.ts';
import { safeText } from './safe-text.ts';
import { errorResponseSchema } from './schemas.ts';

const maxTextLength = 300;
const maxDetails = 20;

/** An unsuccessful answer. */
export interface FailedAnswer {
  status: number;
  retryAfter: string | undefined;
  date: string | undefined;
  /** Null when it was cut short or too long. */
  text: string | null;
}

/**
 * The error for an answer whose status is not 2xx (service-interface.md). Gateways answer with HTML or nothing, so the
 * status alone decides; the body only adds the service's own words.
 */
export function errorFor(answer: FailedAnswer, secrets: readonly string[], nowMs: number): ServiceError {
  const { status } = answer;
  const { words, details } = readWords(answer.text, secrets);
  const said = words === '' ? '' : `: ${words}`;
  const retryAfterMs = readRetryAfter(answer.retryAfter, answer.date, nowMs);
  if (status < 400) {
    return new MalformedResponse(
      status >= 300
        ? `the service answered with a redirect (${status}), which is never followed`
        : `the service answered with status ${status}, which this interface does not know`,
      'check service.baseUrl',
    );
  }
  if (status === 401) {
    return new Unauthorized(`the service does not accept the API key (401)${said}`, 'check the API key');
  }
  if (status === 403) {
    return new PlanRequired(
      `the organization's plan or API key does not allow this (403)${said}`,
      'static export needs an Enterprise plan and an admin API key',
    );
  }
  if (status === 404) return new NotFound(`the service knows no such project or job (404)${said}`, 'check the id');
  if (status === 409) return new NotReady(`the service is not ready for this (409)${said}`, null);
  if (status === 429) return new RateLimited(`the organization's request limit is reached (429)${said}`, retryAfterMs);
  if (status >= 500 || status === 408 || status === 425) {
    return new ServerError(`the service has a problem (${status})${said}`, status, retryAfterMs);
  }
  return new BadRequest(`the service refused the request (${status})${said}`, details);
}

function readWords(text: string | null, secrets: readonly string[]): { words: string; details: string[] } {
  const parsed = errorResponseSchema.safeParse(tryJson(text ?? ''));
  if (!parsed.success) return { words: '', details: [] };
  const safe = (words: string) => safeText(words, secrets, maxTextLength);
  const details = (parsed.data.details ?? []).slice(0, maxDetails).map((detail) => safe(detail.message));
  return { words: safe(parsed.data.error ?? ''), details: details.filter((detail) => detail !== '') };
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
