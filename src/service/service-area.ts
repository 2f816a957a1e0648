import type tls from 'node:tls';
import { isLoopback, proxyFor } from '../rules/proxy.ts';
import { readHttpDate, readRetryAfter } from '../rules/retry-after.ts';
import { withoutEnd } from '../rules/text.ts';
import type { RequestOptions } from './documentation-service.ts';
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
import { errorResponseSchema } from './json-answers.ts';
import {
  type Answer,
  exchange,
  type OpenAnswer,
  type OutgoingRequest,
  openAnswer,
  type Timeouts,
} from './outgoing-call.ts';
import { ServiceAgent } from './service-connection.ts';

const removed = '[removed]';

/**
 * What could be a link, a key or an address, removed in this order where all patterns of its row find something. One
 * pattern that demands all of it would look at each run of text once for each of its characters.
 */
const sensitive: readonly (readonly [runs: RegExp, ...signs: RegExp[]])[] = [
  [/[\w+.-]+(?::\/\/\S+)?/g, /:\/\//],
  [/\b(?:bearer|basic|token)\s+\S+/gi],
  [/[^\s@<>"']+(?:@[^\s@<>"']+)?/g, /@/],
  // Long runs that mix letters and digits: keys, cursors, signatures.
  [/[\w+/=.~-]{24,}/g, /[0-9]/, /[A-Za-z]/],
];

/**
 * Makes a text of the service safe to show and log (X1): replaces links, bearer tokens, e-mail addresses, `secrets` and
 * whatever looks like a key, turns control characters into spaces, and cuts the rest to `maxLength` characters.
 */
export function safeText(text: string, secrets: readonly string[], maxLength: number): string {
  // A service may send megabytes; nothing beyond this would survive the cut.
  let result = text.slice(0, maxLength * 8);
  for (const secret of secrets) {
    if (secret !== '') result = result.replaceAll(secret, removed);
  }
  for (const [runs, ...signs] of sensitive) {
    result = result.replace(runs, (run) => (signs.every((sign) => sign.test(run)) ? removed : run));
  }
  result = result.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  // A character has two units at most.
  const characters = [...result.slice(0, 2 * (maxLength + 1))];
  return characters.length <= maxLength ? result : `${characters.slice(0, maxLength - 1).join('')}…`;
}

const maxTextLength = 300;
const maxDetails = 20;

/** For an answer that is not 2xx: its status decides, its body only adds the service's own words. */
export function errorFor(answer: Answer, secrets: readonly string[], nowMs: number): ServiceError {
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
      'check that it is an admin API key of this organization; static export also needs an Enterprise plan',
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

/** How an organization talks to an area of the service. */
export interface AreaOptions {
  /** Returns the organization's admin API key; called for every request, so that it may change. */
  apiKey: () => string;
  allowInsecure?: boolean;
  timeouts?: Partial<Timeouts>;
  /** Certificate authorities in PEM instead of the system's; not needed for `NODE_EXTRA_CA_CERTS`. */
  ca?: tls.ConnectionOptions['ca'];
  /** Where `HTTPS_PROXY` and the like are looked up. */
  environment?: Readonly<Record<string, string | undefined>>;
}

export const defaultTimeouts: Timeouts = { connectMs: 10_000, firstByteMs: 30_000, overallMs: 60_000 };

/** One base address with its connections. */
export function openArea(baseUrl: string, options: AreaOptions) {
  const base = readBaseUrl(baseUrl, options.allowInsecure === true);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const agentOptions = {
    tls: base.protocol === 'https:' ? (options.ca === undefined ? {} : { ca: options.ca }) : null,
    proxy: () => proxyFor(base, options.environment ?? process.env),
  };
  const kept = new ServiceAgent({ ...agentOptions, keepAlive: true });
  // A kept connection may close during a request, which leaves open whether it arrived. A repeated POST could start a
  // second job, so each gets a new connection.
  const fresh = new ServiceAgent({ ...agentOptions, keepAlive: false });

  return {
    url(segments: string[]): URL {
      const url = new URL(base);
      url.pathname = [withoutEnd(base.pathname, '/'), ...segments.map(encodeSegment)].join('/');
      return url;
    },
    /** The address with this path below the base's, and this query, as they are. */
    address(pathname: string, search: string): URL {
      const url = new URL(base);
      url.pathname = `${withoutEnd(base.pathname, '/')}${pathname}`;
      url.search = search;
      return url;
    },
    /** Sends a GET request and returns the answer as it comes, with any status, without the API key in it. */
    async open(url: URL, headers: Record<string, string>, callOptions: RequestOptions = {}): Promise<OpenAnswer> {
      const key = readKey(options.apiKey);
      return openAnswer(url, { ...headers, Authorization: `Bearer ${key}` }, key, kept, timeouts, callOptions);
    },
    /** Returns the body of a 2xx answer, and what must not be quoted from it. */
    async send(
      { timeouts: own, ...call }: Omit<OutgoingRequest, 'headers'> & { timeouts?: Partial<Timeouts> },
      callOptions: RequestOptions = {},
    ): Promise<{ text: string; secrets: string[] }> {
      const key = readKey(options.apiKey);
      const headers: Record<string, string> = {
        Accept: 'application/json',
        Authorization: `Bearer ${key}`,
        'User-Agent': 'docferry',
      };
      if (call.body !== null) headers['Content-Type'] = 'application/json';
      const agent = call.method === 'GET' ? kept : fresh;
      const answer = await exchange({ ...call, headers }, agent, { ...timeouts, ...own }, callOptions);
      const { status, text } = answer;
      const serviceMs = readHttpDate(answer.date);
      if (serviceMs !== null) callOptions.onDate?.(serviceMs);
      if (status < 200 || status > 299 || text === null) throw errorFor(answer, [key], Date.now());
      return { text, secrets: [key] };
    },
  };
}

function readBaseUrl(text: string, allowInsecure: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.username + url.password + url.search + url.hash !== '') {
    throw new TypeError('the base address must be a URL without credentials, query and fragment');
  }
  if (url.protocol === 'https:') return url;
  if (url.protocol === 'http:' && (allowInsecure || isLoopback(url.hostname))) return url;
  throw new TypeError('the base address must begin with https:// (allowInsecure permits http://)');
}

/** Encodes a path segment. Throws for what cannot be encoded or would change the path. */
function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..' || /\p{Cs}/u.test(segment)) {
    throw new BadRequest('this is not a project or job id');
  }
  return encodeURIComponent(segment);
}

function readKey(apiKey: () => string): string {
  const key = apiKey();
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new Unauthorized('the API key is empty or has invalid characters', 'check the API key');
  }
  return key;
}
