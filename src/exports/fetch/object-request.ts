import { Agent, type Dispatcher, errors, ProxyAgent, request } from 'undici';
import { DownloadFailed } from './download-errors.ts';
import type { Answer } from './judge-answer.ts';
import { checkedConnector, checkLink, type LinkPolicy } from './link-policy.ts';
import type { ReadBuffers } from '../../read-buffers.ts';

const connectTimeoutMs = 10_000;
const maxRedirects = 3;
const redirectStatuses = [301, 302, 303, 307, 308];

export type ObjectResponse = Dispatcher.ResponseData;

/** How links are fetched: no credentials, no automatic redirects. */
export interface LinkDispatchers {
  /** For an address: through its proxy, or directly with every connected address checked by the policy. */
  to(url: URL): Dispatcher;
  destroy(): Promise<void>;
}

/** The caller destroys them. */
export function linkDispatchers(policy: LinkPolicy, buffers: ReadBuffers): LinkDispatchers {
  const direct = new Agent({ connect: checkedConnector(policy, connectTimeoutMs, buffers) });
  const proxies = new Map<string, ProxyAgent>();
  return {
    to(url) {
      const proxy = policy.proxyFor?.(url);
      if (!proxy) return direct;
      const agent = proxies.get(proxy.href) ?? new ProxyAgent(proxy.href);
      proxies.set(proxy.href, agent);
      return agent;
    },
    async destroy() {
      await Promise.all([direct, ...proxies.values()].map((agent) => agent.destroy()));
    },
  };
}

/**
 * Gets a link, following at most 3 redirects, each checked by the policy. `idleTimeoutMs` is the longest silence before
 * the answer and within its body. Throws `LinkRefused`, `DownloadFailed`, and what undici throws.
 */
export async function requestObject(
  link: string,
  headers: Record<string, string>,
  options: {
    policy: LinkPolicy;
    dispatchers: LinkDispatchers;
    idleTimeoutMs: number;
    signal?: AbortSignal | undefined;
  },
): Promise<ObjectResponse> {
  let url = checkLink(link, options.policy);
  for (let redirects = 0; ; redirects += 1) {
    const response = await answerTo(url, headers, options);
    // The reader of the body listens for errors itself; until then an early end must not crash the process.
    response.body.on('error', () => undefined);
    const location = headerOf(response, 'location');
    if (!redirectStatuses.includes(response.statusCode) || location === null) return response;
    await discardBody(response);
    if (redirects === maxRedirects) throw new DownloadFailed(`more than ${maxRedirects} redirects`, false);
    if (!URL.canParse(location, url.href)) throw new DownloadFailed('a redirect does not lead to a URL', false);
    url = checkLink(new URL(location, url).href, options.policy);
  }
}

/** Informational answers (1xx) are none: each would begin undici's own limit anew, so the first begins one of ours. */
async function answerTo(
  url: URL,
  headers: Record<string, string>,
  { dispatchers, idleTimeoutMs, signal }: Parameters<typeof requestObject>[2],
): Promise<ObjectResponse> {
  const tooLate = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    return await request(url, {
      dispatcher: dispatchers.to(url),
      headers: { 'accept-encoding': 'identity', ...headers },
      headersTimeout: idleTimeoutMs,
      bodyTimeout: idleTimeoutMs,
      signal: AbortSignal.any([tooLate.signal, ...(signal ? [signal] : [])]),
      onInfo() {
        timer ??= setTimeout(() => tooLate.abort(new errors.HeadersTimeoutError()), idleTimeoutMs);
      },
    });
  } finally {
    clearTimeout(timer);
  }
}

/** The status and headers by which an answer is judged. */
export function answerOf(response: ObjectResponse): Answer {
  return {
    status: response.statusCode,
    etag: headerOf(response, 'etag'),
    contentLength: headerOf(response, 'content-length'),
    contentRange: headerOf(response, 'content-range'),
    contentEncoding: headerOf(response, 'content-encoding'),
    retryAfter: headerOf(response, 'retry-after'),
    date: headerOf(response, 'date'),
  };
}

/** The value of a header that is sent once; null when absent or repeated. */
function headerOf(response: ObjectResponse, name: string): string | null {
  const value = response.headers[name];
  return typeof value === 'string' ? value : null;
}

/** Discards the body of an answer that is not needed. */
export async function discardBody(response: ObjectResponse): Promise<void> {
  await response.body.dump({ limit: 64 * 1024 }).catch(() => undefined);
}
