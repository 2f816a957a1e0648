import type tls from 'node:tls';
import { readHttpDate } from '../model/budget/retry-after.ts';
import { isLoopback } from '../model/loopback.ts';
import type { DocumentationService, FeedbackQuery, RequestOptions } from './documentation-service.ts';
import { errorFor } from './error-response.ts';
import { BadRequest, Unauthorized } from './errors.ts';
import { exchange, type OutgoingRequest, type Timeouts } from './exchange.ts';
import { readFeedbackPage } from './feedback-page.ts';
import { readBundleLink, readJobStatus, readStartedJob } from './job-answer.ts';
import { proxyFor } from './proxy.ts';
import { ServiceAgent } from './service-agent.ts';

export interface DocumentationServiceOptions {
  /** {base_url} of service-interface.md; may have a path. */
  baseUrl: string;
  /** Base address of the analytics area where it differs (service-interface.md appendix). */
  analyticsBaseUrl?: string;
  /** Returns the organization's admin API key; called for every request, so that it may change. */
  apiKey: () => string;
  /** Allow http:// to hosts other than this machine. */
  allowInsecure?: boolean;
  timeouts?: Partial<Timeouts>;
  /** Longest answers in bytes, after decompression. */
  maxResponseBytes?: { feedback?: number; other?: number };
  userAgent?: string;
  /** Certificate authorities in PEM instead of the system's; not needed for `NODE_EXTRA_CA_CERTS`. */
  ca?: tls.ConnectionOptions['ca'];
  /** Where `HTTPS_PROXY` and the like are looked up. */
  environment?: Readonly<Record<string, string | undefined>>;
}

/** The first two stay within `budget.arrival`'s default of 30 s (B1). */
const defaultTimeouts: Timeouts = { connectMs: 10_000, firstByteMs: 30_000, overallMs: 60_000 };
const longestFeedbackAnswer = 64 * 1024 * 1024;
const longestOtherAnswer = 1024 * 1024;

/**
 * The documentation service over HTTP (service-interface.md). Throws `TypeError` unless the base address is an https://
 * URL (or http:// for this machine, or anywhere with `allowInsecure`).
 */
export function createDocumentationService(options: DocumentationServiceOptions): DocumentationService {
  const exportArea = openArea(options.baseUrl, options);
  const analyticsArea =
    options.analyticsBaseUrl === undefined ? exportArea : openArea(options.analyticsBaseUrl, options);
  const maxFeedbackBytes = options.maxResponseBytes?.feedback ?? longestFeedbackAnswer;
  const maxOtherBytes = options.maxResponseBytes?.other ?? longestOtherAnswer;

  const jobsPath = ['v1', 'static-export', 'jobs'];
  const exportCall = (path: string[], rest: Pick<OutgoingRequest, 'method' | 'body'>) => ({
    ...rest,
    url: exportArea.url(path),
    maxBytes: maxOtherBytes,
  });

  return {
    async getFeedbackPage(projectId, query, callOptions) {
      const url = analyticsArea.url(['v1', 'analytics', projectId, 'feedback']);
      for (const [name, value] of queryParameters(query)) url.searchParams.set(name, value);
      const call = { method: 'GET' as const, url, body: null, maxBytes: maxFeedbackBytes };
      return readFeedbackPage((await analyticsArea.send(call, callOptions)).text);
    },
    async startExportJob({ domain, version, paths }, callOptions) {
      const body = JSON.stringify({ domain, version, paths });
      const { text, secrets } = await exportArea.send(exportCall(jobsPath, { method: 'POST', body }), callOptions);
      return readStartedJob(text, secrets);
    },
    async getExportJob(jobId, callOptions) {
      const call = exportCall([...jobsPath, jobId], { method: 'GET', body: null });
      const { text, secrets } = await exportArea.send(call, callOptions);
      return readJobStatus(text, jobId, secrets);
    },
    async createBundleLink(jobId, callOptions) {
      const call = exportCall([...jobsPath, jobId, 'bundle'], { method: 'POST', body: null });
      return readBundleLink((await exportArea.send(call, callOptions)).text, call.url);
    },
  };
}

/** One base address with its connections. */
function openArea(baseUrl: string, options: DocumentationServiceOptions) {
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
      url.pathname = [base.pathname.replace(/\/+$/, ''), ...segments.map(encodeSegment)].join('/');
      return url;
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

function queryParameters(query: FeedbackQuery): [string, string][] {
  const { limit, status } = query;
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= 100)) {
    throw new RangeError('limit must be a whole number from 1 to 100');
  }
  const parameters: [string, string | undefined][] = [
    ['dateFrom', query.dateFrom],
    ['dateTo', query.dateTo],
    ['source', query.source],
    ['status', status === undefined || status.length === 0 ? undefined : status.join(',')],
    ['limit', limit?.toString()],
    ['cursor', query.cursor],
  ];
  return parameters.filter((parameter): parameter is [string, string] => parameter[1] !== undefined);
}
