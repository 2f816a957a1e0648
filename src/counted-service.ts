import type { Metrics } from './temporal/metrics.ts';
import type { AnalyticsAccess } from './service/analytics-access.ts';
import type { DocumentationService, RequestOptions } from './service/documentation-service.ts';
import { NetworkError, ServiceError, type ServiceErrorKind } from './service/errors.ts';
import type { OpenAnswer } from './service/open-answer.ts';

/** Pages of feedback, starts of jobs, polls of them, links to bundles, and what other programs ask through the gateway. */
export type Endpoint = 'feedback' | 'start-job' | 'job' | 'bundle-link' | 'gateway';

const outcomeOfError = {
  Unauthorized: 'unauthorized',
  PlanRequired: 'plan-required',
  BadRequest: 'bad-request',
  NotFound: 'not-found',
  NotReady: 'not-ready',
  RateLimited: 'rate-limited',
  ServerError: 'server-error',
  NetworkError: 'network-error',
  MalformedResponse: 'malformed',
  Aborted: 'aborted',
} as const satisfies Record<ServiceErrorKind, string>;

const outcomeOfRefusal: ReadonlyMap<number, RequestOutcome> = new Map([
  [401, 'unauthorized'],
  [403, 'plan-required'],
  [404, 'not-found'],
  [409, 'not-ready'],
  [429, 'rate-limited'],
]);

/** Every value of the label `outcome`: an answer, how it failed, or that no connection was made. */
export const requestOutcomes = ['ok', ...Object.values(outcomeOfError), 'not-sent'] as const;

type RequestOutcome = (typeof requestOutcomes)[number];

/** Counts the requests to an organization's service, except those that the budget stopped at the last moment. */
export function countedService(service: DocumentationService, org: string, metrics: Metrics): DocumentationService {
  const counted = <Answer>(
    endpoint: Endpoint,
    options: RequestOptions,
    request: (options: RequestOptions) => Promise<Answer>,
  ) => countedRequest({ org, endpoint, metrics, outcomeOf: () => 'ok' }, options, request);
  return {
    getFeedbackPage: (project, query, options = {}) =>
      counted('feedback', options, (watched) => service.getFeedbackPage(project, query, watched)),
    startExportJob: (request, options = {}) =>
      counted('start-job', options, (watched) => service.startExportJob(request, watched)),
    getExportJob: (jobId, options = {}) => counted('job', options, (watched) => service.getExportJob(jobId, watched)),
    createBundleLink: (jobId, options = {}) =>
      counted('bundle-link', options, (watched) => service.createBundleLink(jobId, watched)),
  };
}

/** Like `countedService`, for what other programs ask through the gateway. */
export function countedAccess(access: AnalyticsAccess, org: string, metrics: Metrics): AnalyticsAccess {
  return {
    get: (target, headers, options = {}) =>
      countedRequest({ org, endpoint: 'gateway', metrics, outcomeOf: outcomeOfStatus }, options, (watched) =>
        access.get(target, headers, watched),
      ),
  };
}

interface Counting<Answer> {
  org: string;
  endpoint: Endpoint;
  metrics: Metrics;
  outcomeOf(answer: Answer): RequestOutcome;
}

async function countedRequest<Answer>(
  { org, endpoint, metrics, outcomeOf }: Counting<Answer>,
  options: RequestOptions,
  request: (options: RequestOptions) => Promise<Answer>,
): Promise<Answer> {
  const count = (outcome: RequestOutcome) => metrics.add('docferry_requests_total', { org, endpoint, outcome });
  let sent = false;
  const beforeSend = () => {
    options.beforeSend?.();
    sent = true;
  };
  try {
    const answer = await request({ ...options, beforeSend });
    count(outcomeOf(answer));
    return answer;
  } catch (error) {
    if (sent && error instanceof ServiceError) count(outcomeOfError[error.kind]);
    else if (error instanceof NetworkError) count('not-sent');
    throw error;
  }
}

function outcomeOfStatus({ status }: OpenAnswer): RequestOutcome {
  if (status >= 200 && status < 300) return 'ok';
  if (status >= 500) return 'server-error';
  return outcomeOfRefusal.get(status) ?? 'bad-request';
}
