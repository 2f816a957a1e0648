import type { RequestOptions } from './documentation-service.ts';
import type { OpenAnswer } from './outgoing-call.ts';
import { type AreaOptions, openArea } from './service-area.ts';

/** The whole analytics area of the service with an organization's key, for requests that docferry does not know. */
export interface AnalyticsAccess {
  /**
   * Sends one GET request and hands out its answer as it comes, whatever the status. `path` is below the base address and
   * goes out as it is, like `query` (with its `?`, or empty). Throws a `ServiceError` or what `beforeSend` threw.
   */
  get(
    target: { path: string; query: string },
    headers: Readonly<Record<string, string>>,
    options?: RequestOptions,
  ): Promise<OpenAnswer>;
}

/** Like `createDocumentationService`, for the analytics area alone. */
export function createAnalyticsAccess(analyticsBaseUrl: string, options: AreaOptions): AnalyticsAccess {
  const area = openArea(analyticsBaseUrl, options);
  return {
    get: ({ path, query }, headers, callOptions) => area.open(area.address(path, query), { ...headers }, callOptions),
  };
}
