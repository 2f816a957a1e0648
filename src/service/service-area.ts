import type tls from 'node:tls';
import { readHttpDate } from '../budget/rules/retry-after.ts';
import { isLoopback } from '../rules/loopback.ts';
import { withoutEnd } from '../rules/short-texts.ts';
import type { RequestOptions } from './documentation-service.ts';
import { BadRequest, Unauthorized } from './errors.ts';
import { errorFor } from './error-response.ts';
import { exchange, type OutgoingRequest } from './exchange.ts';
import { type OpenAnswer, openAnswer } from './open-answer.ts';
import type { Timeouts } from './outgoing-call.ts';
import { proxyFor } from './proxy.ts';
import { ServiceAgent } from './service-agent.ts';

/** How an organization talks to an area of the service. */
export interface AreaOptions {
  /** Returns the organization's admin API key; called for every request, so that it may change. */
  apiKey: () => string;
  /** Allow http:// to hosts other than this machine. */
  allowInsecure?: boolean;
  timeouts?: Partial<Timeouts>;
  userAgent?: string;
  /** Certificate authorities in PEM instead of the system's; not needed for `NODE_EXTRA_CA_CERTS`. */
  ca?: tls.ConnectionOptions['ca'];
  /** Where `HTTPS_PROXY` and the like are looked up. */
  environment?: Readonly<Record<string, string | undefined>>;
}

/** The first two stay within `budget.arrival`'s default of 30 s (B1). */
const defaultTimeouts: Timeouts = { connectMs: 10_000, firstByteMs: 30_000, overallMs: 60_000 };

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
    /** Sends a GET request and hands out the answer as it comes, whatever its status, without the API key in it. */
    async open(url: URL, headers: Record<string, string>, callOptions: RequestOptions = {}): Promise<OpenAnswer> {
      const key = readKey(options.apiKey);
      return openAnswer(url, { ...headers, Authorization: `Bearer ${key}` }, key, kept, timeouts, callOptions);
    },
    /** Returns the body of a 2xx answer, and what must not be quoted from it. */
    async send(
      call: Omit<OutgoingRequest, 'headers'>,
      callOptions: RequestOptions = {},
    ): Promise<{ text: string; secrets: string[] }> {
      const key = readKey(options.apiKey);
      const headers: Record<string, string> = {
        Accept: 'application/json',
        Authorization: `Bearer ${key}`,
        'User-Agent': options.userAgent ?? 'docferry',
      };
      if (call.body !== null) headers['Content-Type'] = 'application/json';
      const agent = call.method === 'GET' ? kept : fresh;
      const answer = await exchange({ ...call, headers }, agent, timeouts, callOptions);
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
  if (url === null || url.username !== '' || url.search !== '' || url.hash !== '') {
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
