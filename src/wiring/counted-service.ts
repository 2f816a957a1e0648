import type { Metrics } from '../metrics/metrics.ts';
import type { DocumentationService, RequestOptions } from '../service/documentation-service.ts';
import { NetworkError, ServiceError, type ServiceErrorKind } from '../service/errors.ts';

/** Where requests go: pages of feedback, a start of a job, a poll of one, a link to its bundle. */
export const endpoints = ['feedback', 'start-job', 'job', 'bundle-link'] as const;
export type Endpoint = (typeof endpoints)[number];

const outcomeOf: Record<ServiceErrorKind, string> = {
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
};

/** Every value of the label `outcome`: an answer, how it failed, or that no connection was made. */
export const requestOutcomes = ['ok', ...Object.values(outcomeOf), 'not-sent'] as const;

/** Counts what is asked of an organization's service. Requests that the budget stopped at the last moment are not. */
export function countedService(service: DocumentationService, org: string, metrics: Metrics): DocumentationService {
  const counted = async <Answer>(
    endpoint: Endpoint,
    options: RequestOptions,
    request: (options: RequestOptions) => Promise<Answer>,
  ): Promise<Answer> => {
    const count = (outcome: string) => metrics.add('docferry_requests_total', { org, endpoint, outcome });
    let sent = false;
    const beforeSend = () => {
      options.beforeSend?.();
      sent = true;
    };
    try {
      const answer = await request({ ...options, beforeSend });
      count('ok');
      return answer;
    } catch (error) {
      if (sent && error instanceof ServiceError) count(outcomeOf[error.kind]);
      else if (error instanceof NetworkError) count('not-sent');
      throw error;
    }
  };
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
