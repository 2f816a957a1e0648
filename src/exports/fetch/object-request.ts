import type { ByteSpan, ReadBuffers } from '../../files.ts';
import { Agent, type Dispatcher, errors, ProxyAgent, request } from '../../http-client.ts';
import { readRetryAfter } from '../../rules/retry-after.ts';
import type { ObjectIdentity } from './partial-file.ts';
import { checkedConnector, checkLink, DownloadFailed, type LinkPolicy } from './presigned-links.ts';

/** What a request asked the object store for. */
export type RangeRequest =
  | { kind: 'whole' }
  /** The first bytes of an object that is still unknown. */
  | { kind: 'opening'; end: number }
  /** Bytes from `start` up to, not including, `end` of a known object. */
  | { kind: 'range'; start: number; end: number; identity: ObjectIdentity };

/** The bytes that an answer may fill. */
export function spanOf(asked: RangeRequest): ByteSpan {
  if (asked.kind === 'range') return { start: asked.start, end: asked.end };
  return { start: 0, end: asked.kind === 'opening' ? asked.end : Number.MAX_SAFE_INTEGER };
}

/** The headers that ask for it: a range of a known object is asked for only while it is the same. */
export function headersOf(asked: RangeRequest): Record<string, string> {
  if (asked.kind === 'whole') return {};
  if (asked.kind === 'opening') return { range: `bytes=0-${asked.end - 1}` };
  const { start, end, identity } = asked;
  const last = end === identity.total ? '' : `${end - 1}`;
  return { range: `bytes=${start}-${last}`, 'if-match': identity.etag };
}

/** What to do with an answer of the object store. */
export type Verdict =
  | { kind: 'from-start'; total: number | null; etag: string | null }
  | { kind: 'opened'; identity: ObjectIdentity; end: number }
  | { kind: 'continue' }
  /** Ask for the whole object: the store sends no ranges, or nothing proves that they belong together. */
  | { kind: 'no-ranges' }
  | { kind: 'start-over'; why: string }
  | { kind: 'expired' }
  | { kind: 'failed'; why: string; retry: 'now' | 'later' | 'never'; retryAfterMs: number | null };

type Answer = ReturnType<typeof answerOf>;

/** Statuses of an expired or refused link; some stores answer 400 for an expired token. */
const expired = [400, 401, 403];
const gone = [404, 410];
const busy = [408, 425, 429];

/** Judges an answer (E3). Stores ignore a wrong `If-Range`: range, length and ETag of every 206 are checked. */
export function judgeAnswer(answer: Answer, asked: RangeRequest): Verdict {
  const { status } = answer;
  if ((status === 200 || status === 206) && !isPlain(answer.contentEncoding)) {
    return failed(`the body is encoded with ${answer.contentEncoding}`, 'never');
  }
  if (status === 200) return { kind: 'from-start', total: lengthOf(answer.contentLength), etag: strong(answer.etag) };
  if (status === 206 && asked.kind === 'range') return judgeRange(answer, asked);
  if (status === 206 && asked.kind === 'opening') return judgeOpening(answer, asked.end);
  if (status === 416 && asked.kind === 'opening') return { kind: 'no-ranges' };
  if (asked.kind === 'range' && (status === 412 || status === 416))
    return { kind: 'start-over', why: 'the object changed' };
  if (expired.includes(status)) return { kind: 'expired' };
  const why = `HTTP ${status}`;
  if (gone.includes(status)) return failed(why, 'later');
  const retryAfterMs = readRetryAfter(answer.retryAfter ?? undefined, answer.date ?? undefined, Date.now());
  return failed(why, status >= 500 || busy.includes(status) ? 'now' : 'never', retryAfterMs);
}

function judgeRange(answer: Answer, { start, end, identity }: RangeRequest & { kind: 'range' }): Verdict {
  const expected = `bytes ${start}-${end - 1}/${identity.total}`;
  if (answer.contentRange !== expected) return { kind: 'start-over', why: 'the answer has another range or length' };
  if (answer.etag !== identity.etag) return { kind: 'start-over', why: 'the answer is of another object' };
  return { kind: 'continue' };
}

function judgeOpening(answer: Answer, askedEnd: number): Verdict {
  const [, last, length] = /^bytes 0-(\d{1,15})\/(\d{1,15})$/.exec(answer.contentRange ?? '') ?? [];
  const [end, total, etag] = [Number(last) + 1, Number(length), strong(answer.etag)];
  if (etag === null || !(end === Math.min(askedEnd, total))) return { kind: 'no-ranges' };
  return { kind: 'opened', identity: { etag, total }, end };
}

function failed(why: string, retry: 'now' | 'later' | 'never', retryAfterMs: number | null = null): Verdict {
  return { kind: 'failed', why, retry, retryAfterMs };
}

/** Null for a weak ETag, which proves nothing about bytes. */
function strong(etag: string | null): string | null {
  return etag !== null && /^"[^"]+"$/.test(etag) ? etag : null;
}

/**
 * Encodings that do not change what is stored. Uploads of a `.tar.gz` commonly leave `gzip` or `aws-chunked` with the
 * object, and a store sends that label whatever the request accepts: the bytes are kept as received, and their format
 * decides.
 */
const harmless = ['', 'identity', 'gzip', 'x-gzip', 'aws-chunked'];

function isPlain(encoding: string | null): boolean {
  return (encoding ?? '').split(',').every((one) => harmless.includes(one.trim().toLowerCase()));
}

function lengthOf(header: string | null): number | null {
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : null;
}

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

/** The status and headers that decide about an answer. */
export function answerOf(response: ObjectResponse) {
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
