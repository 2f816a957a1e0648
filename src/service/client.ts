import type { BundleLink, ExportJob, FeedbackPage, FeedbackQuery, RequestOptions } from './documentation-service.ts';
import { readFeedbackPage } from './feedback-page.ts';
import { readBundleLink, readJobStatus, readStartedJob } from './job-answer.ts';
import type { OpenAnswer, OutgoingRequest } from './outgoing-call.ts';
import { type AreaOptions, openArea } from './service-area.ts';

export interface DocumentationServiceOptions extends AreaOptions {
  /** {base_url} of service-interface.md; may have a path. */
  baseUrl: string;
  /** Base address of the analytics area where it differs (service-interface.md appendix). */
  analyticsBaseUrl?: string;
}

/** Longest answers in bytes, after decompression. */
const maxFeedbackBytes = 64 * 1024 * 1024;
const maxOtherBytes = 1024 * 1024;

/** One organization's view of the documentation service. */
export type DocumentationService = ReturnType<typeof createDocumentationService>;

/**
 * The documentation service over HTTP (service-interface.md). Every method makes exactly one request, follows no redirect
 * and throws a `ServiceError`, or what `beforeSend` threw. Throws `TypeError` unless the base address is an https:// URL
 * (or http:// for this machine, or anywhere with `allowInsecure`).
 */
export function createDocumentationService(options: DocumentationServiceOptions) {
  const exportArea = openArea(options.baseUrl, options);
  const analyticsArea =
    options.analyticsBaseUrl === undefined ? exportArea : openArea(options.analyticsBaseUrl, options);

  const jobsPath = ['v1', 'static-export', 'jobs'];
  const exportCall = (path: string[], rest: Pick<OutgoingRequest, 'method' | 'body'>) => ({
    ...rest,
    url: exportArea.url(path),
    maxBytes: maxOtherBytes,
  });

  return {
    async getFeedbackPage(
      projectId: string,
      query: FeedbackQuery,
      callOptions?: RequestOptions,
    ): Promise<FeedbackPage> {
      const url = analyticsArea.url(['v1', 'analytics', projectId, 'feedback']);
      for (const [name, value] of queryParameters(query)) url.searchParams.set(name, value);
      const call = { method: 'GET' as const, url, body: null, maxBytes: maxFeedbackBytes };
      return readFeedbackPage((await analyticsArea.send(call, callOptions)).text);
    },
    async startExportJob(
      { domain, version, paths }: { domain: string; version?: string; paths?: readonly string[] },
      callOptions?: RequestOptions,
    ): Promise<ExportJob> {
      const body = JSON.stringify({ domain, version, paths });
      const { text, secrets } = await exportArea.send(exportCall(jobsPath, { method: 'POST', body }), callOptions);
      return readStartedJob(text, secrets);
    },
    async getExportJob(jobId: string, callOptions?: RequestOptions): Promise<ExportJob> {
      const call = exportCall([...jobsPath, jobId], { method: 'GET', body: null });
      const { text, secrets } = await exportArea.send(call, callOptions);
      return readJobStatus(text, jobId, secrets);
    },
    async createBundleLink(jobId: string, callOptions?: RequestOptions): Promise<BundleLink> {
      const call = exportCall([...jobsPath, jobId, 'bundle'], { method: 'POST', body: null });
      return readBundleLink((await exportArea.send(call, callOptions)).text, call.url);
    },
    /**
     * A request to the analytics area that docferry does not know; returns the answer as it comes, with any status. `path`
     * is below the base address and goes out as it is, like `query` (with its `?`, or empty).
     */
    async getAnalytics(
      { path, query }: { path: string; query: string },
      headers: Readonly<Record<string, string>>,
      callOptions?: RequestOptions,
    ): Promise<OpenAnswer> {
      return analyticsArea.open(analyticsArea.address(path, query), { ...headers }, callOptions);
    },
  };
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
