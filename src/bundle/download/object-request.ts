import { Agent, type Dispatcher, ProxyAgent, request } from 'undici';
import { DownloadFailed } from './download-errors.ts';
import type { Answer } from './judge-answer.ts';
import { checkLink, type LinkPolicy, policedConnector } from './link-policy.ts';
import type { ReadBuffers } from './read-buffers.ts';

const connectTimeoutMs = 10_000;
const maxRedirects = 3;
const redirectStatuses = [301, 302, 303, 307, 308];

export type ObjectResponse = Dispatcher.ResponseData;

/** What links are fetched with: no credentials, no automatic redirects. */
export interface LinkDispatchers {
  /** The way to an address: through its proxy, or directly, with every connected address checked by the policy. */
  to(url: URL): Dispatcher;
  destroy(): Promise<void>;
}

/** The caller destroys them. */
export function linkDispatchers(policy: LinkPolicy, reads: ReadBuffers): LinkDispatchers {
  const direct = new Agent({ connect: policedConnector(policy, connectTimeoutMs, reads) });
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
    connections: LinkDispatchers;
    idleTimeoutMs: number;
    signal?: AbortSignal | undefined;
  },
): Promise<ObjectResponse> {
  let url = checkLink(link, options.policy);
  for (let redirects = 0; ; redirects += 1) {
    const response = await request(url, {
      dispatcher: options.connections.to(url),
      headers: { 'accept-encoding': 'identity', ...headers },
      headersTimeout: options.idleTimeoutMs,
      bodyTimeout: options.idleTimeoutMs,
      ...(options.signal ? { signal: options.signal } : {}),
    });
    // Whoever reads the body listens for themselves; until then its end harms nobody.
    response.body.on('error', () => undefined);
    const location = headerOf(response, 'location');
    if (!redirectStatuses.includes(response.statusCode) || location === null) return response;
    await drop(response);
    if (redirects === maxRedirects) throw new DownloadFailed(`more than ${maxRedirects} redirects`, false);
    if (!URL.canParse(location, url.href)) throw new DownloadFailed('a redirect leads to no URL', false);
    url = checkLink(new URL(location, url).href, options.policy);
  }
}

/** What is looked at of an answer to judge it. */
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

/** Gives up the body of an answer that is of no use. */
export async function drop(response: ObjectResponse): Promise<void> {
  await response.body.dump({ limit: 64 * 1024 }).catch(() => undefined);
}
