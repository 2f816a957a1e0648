import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { LastWait } from './permit-queue.ts';

/** The requested path, as sent. */
export interface AnalyticsTarget {
  path: string;
  /** With its `?`; empty without one. */
  query: string;
}

const area = '/v1/analytics/';
/** A segment in plain letters and percent-encoded UTF-8. No `;`: some servers cut a segment there and see `..`. */
const segment = /^(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2})+$/;
const query = /^(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?[\]|^`{}-]|%[0-9A-Fa-f]{2})*)?$/;
/** What no server may take for a separator, the end of a path, or another encoding. */
const unsafe = /[\p{Cc}/\\%;?#]/u;

/**
 * Reads the target of a request (`GET <target> HTTP/1.1`). Null unless it is a path below the analytics area that every
 * server reads alike: absolute addresses, dots as segments, empty segments and encoded separators are refused.
 */
export function readAnalyticsTarget(target: string): AnalyticsTarget | null {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const rest = mark < 0 ? '' : target.slice(mark);
  if (!path.startsWith(area) || !query.test(rest)) return null;
  return path.slice(area.length).split('/').every(isPlain) ? { path, query: rest } : null;
}

function isPlain(text: string): boolean {
  if (!segment.test(text)) return false;
  try {
    const decoded = decodeURIComponent(text);
    return !unsafe.test(decoded) && !/^\.+$/.test(decoded);
  } catch {
    return false;
  }
}

/** What a client may say to the service; its token stays here. */
const asked = ['accept', 'accept-language', 'if-modified-since', 'if-none-match', 'user-agent'];
/** What the service may say to a client: nothing of the connection, no cookies, nothing of its inside. */
const answered = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'date',
  'deprecation',
  'etag',
  'expires',
  'last-modified',
  'link',
  'ratelimit',
  'ratelimit-limit',
  'ratelimit-policy',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'sunset',
  'vary',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
];

/** Headers of the request to the service. The body is asked for as it is, so that no key can hide in it. */
export function headersToService(headers: IncomingHttpHeaders): Record<string, string> {
  return { 'user-agent': 'docferry', ...only(headers, asked), 'accept-encoding': 'identity' };
}

/** Headers of the answer to the client. */
export function headersToClient(headers: IncomingHttpHeaders): Record<string, string> {
  return only(headers, answered);
}

function only(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );
}

/** An answer of the gateway's own. */
export interface OwnAnswer {
  status: number;
  /** Nothing of the request, the key or the token. */
  error: string;
  headers?: Record<string, string>;
}

const reasons: Record<LastWait['reason'], string> = {
  'window-full': 'the requests of the organization are used up',
  throttled: 'the service refused a request of the organization (429)',
  probing: 'one request is testing whether the service has room again',
  unauthorized: "the service refuses the organization's API key (401)",
  paused: 'the budget of the organization was paused by hand',
  share: 'this client holds its share of the requests',
  'no-answer': 'the budget of the organization does not answer',
};

const unknownWaitS = 5;

export const refusals = {
  notHere: { status: 404, error: 'only addresses below /v1/analytics/ are served here' },
  onlyGet: { status: 405, error: 'only GET is forwarded', headers: { Allow: 'GET' } },
  tooLong: { status: 414, error: 'the address is too long' },
  noBody: { status: 400, error: 'a request with a body is not forwarded', headers: { Connection: 'close' } },
  unknownToken: { status: 401, error: 'the token of a client is required', headers: { 'WWW-Authenticate': 'Bearer' } },
  closing: { status: 503, error: 'the gateway is being stopped', headers: { 'Retry-After': '5', Connection: 'close' } },
  refusedPath: { status: 502, error: 'the service answered 401 to this path' },
  unreachable: { status: 502, error: 'the service cannot be reached' },
  late: { status: 504, error: 'the service did not answer in time' },
  failed: { status: 502, error: 'the request could not be forwarded' },
  /** @param maxWaitMs 0 when too many requests wait already */
  noPermit(told: LastWait | null, maxWaitMs: number): OwnAnswer {
    const seconds = told === null ? unknownWaitS : Math.max(1, Math.ceil((told.freeAt - performance.now()) / 1000));
    const why = told === null ? 'others wait for the budget' : reasons[told.reason];
    const error =
      maxWaitMs === 0 ? 'too many requests of this client wait already' : `no request could be sent: ${why}`;
    return { status: 429, error, headers: { 'Retry-After': `${seconds}` } };
  },
} satisfies Record<string, OwnAnswer | ((...args: never[]) => OwnAnswer)>;

/** Answers as the service answers errors. */
export function refuse(response: ServerResponse, { status, error, headers = {} }: OwnAnswer): void {
  if (response.destroyed) return;
  const body = `${JSON.stringify({ error })}\n`;
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      ...headers,
    })
    .end(body);
}
