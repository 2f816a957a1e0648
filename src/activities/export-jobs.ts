import { activityInfo, log } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { stepsOf } from '../exports/rollout/rollout-target.ts';
import type { TargetSteps } from '../exports/rules/rollout-steps.ts';
import type { ExportParameters } from '../exports/rules/site-export.ts';
import type { ExportJob } from '../service/documentation-service.ts';
import { NetworkError, NotReady, RateLimited, ServerError, ServiceError } from '../service/errors.ts';
import {
  type ActivityDependencies,
  answerWithin,
  databaseAnswersWithinMs,
  organizationOf,
  siteOf,
} from './dependencies.ts';
import { isTemporalFailure, permanent, serviceFailure, transient } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';
import { subscribers } from './notices.ts';

export interface SitePlan {
  storeId: string;
  jobTimeoutMs: number;
  jobAttempts: number;
  /** How long a start that may have arrived is repeated. */
  startTimeoutMs: number;
  /** Whether every version waits for a person's approval, and how long one waits, for a rule that asks too. */
  approval: { always: boolean; timeoutMs: number };
  /** How long the site's last complete exports took at the service, the latest first. */
  usualJobsMs: number[];
  /** What the rollout targets do with a version, in the order of the configuration. */
  targets: TargetSteps[];
  /** Names of the webhooks to notify. */
  webhooks: string[];
}

/** How many exports the polls of the next one learn from. */
const learntFrom = 10;

interface SiteInput {
  org: string;
  domain: string;
}

/** Jobs of the static export at the service (service-interface.md endpoints 2 and 3). */
export const createJobActivities = (deps: ActivityDependencies) => ({
  /** What this worker's configuration says about the site. */
  async planExport({ org, domain }: SiteInput): Promise<SitePlan> {
    const site = siteOf(deps, org, domain);
    const [usualJobsMs, webhooks] = await Promise.all([
      usualJobs(deps, org, domain),
      subscribers(deps, org, 'export.finished'),
    ]);
    return {
      storeId: deps.bundles.identity,
      jobTimeoutMs: site.jobTimeoutMs,
      jobAttempts: site.jobAttempts,
      startTimeoutMs: site.startTimeoutMs,
      approval: site.approval,
      usualJobsMs,
      targets: site.targets.map(stepsOf),
      webhooks,
    };
  },

  /**
   * Starts a job with one request. Temporal retries only if the request certainly started nothing; otherwise it fails
   * with `StartUncertain` or `WorkerShutdown`, and the workflow decides (architecture.md).
   */
  async startJob(input: SiteInput & { parameters: ExportParameters }): Promise<{ jobId: string }> {
    const { siteVersion, paths } = input.parameters;
    const { service } = organizationOf(deps, input.org);
    try {
      const request = {
        domain: input.domain,
        ...(siteVersion === undefined ? {} : { version: siteVersion }),
        ...(paths === undefined || paths.length === 0 ? {} : { paths }),
      };
      const job = await withBeats((signal) => service.startExportJob(request, { signal }));
      return { jobId: job.jobId };
    } catch (error) {
      throw startFailure(error);
    }
  },

  /** Asks for the job's state once; a job the service does not know is `missing`. */
  async readJob(input: { org: string; jobId: string }): Promise<JobReading> {
    const { service } = organizationOf(deps, input.org);
    try {
      const job = await withBeats((signal) => service.getExportJob(input.jobId, { signal }));
      return { state: job.state, status: job.status, percent: job.percent, pageCount: job.pageCount, error: job.error };
    } catch (error) {
      const failure = serviceFailure(error, activityInfo().attempt);
      if ('type' in failure && failure.type === 'NotFound') {
        return { state: 'missing', status: 'missing', percent: null, pageCount: null, error: null };
      }
      throw failure;
    }
  },
});

export type JobReading = Omit<ExportJob, 'state' | 'jobId'> & { state: ExportJob['state'] | 'missing' };

/** None while the database is down: polls are only spaced less well then, and exports do not need it. */
async function usualJobs({ feedback }: ActivityDependencies, org: string, domain: string): Promise<number[]> {
  try {
    const durations = await answerWithin(databaseAnswersWithinMs, feedback.jobDurations(org, domain, learntFrom));
    if (durations !== null) return durations;
    log.warn('the database does not answer: earlier exports are not known', { domain });
  } catch (error) {
    log.warn('earlier exports are not known', { domain, failure: error instanceof Error ? error.name : 'unknown' });
  }
  return [];
}

/** One request with heartbeats: a worker that dies during it is noticed in seconds. */
const withBeats = <Result>(request: (signal: AbortSignal) => Promise<Result>): Promise<Result> =>
  withHeartbeats(() => ({}), request);

function startFailure(error: unknown): Error {
  // The worker shut down or the activity was paused during the request, which may have arrived: the workflow repeats it.
  if (error instanceof CancelledFailure) return error;
  if (isTemporalFailure(error)) return permanent('WorkerShutdown', error.message);
  const startedNothing =
    error instanceof RateLimited ||
    error instanceof NotReady ||
    (error instanceof ServerError && error.status === 503) ||
    (error instanceof NetworkError && !error.mayHaveArrived);
  if (startedNothing) {
    const delay = error instanceof RateLimited ? (error.retryAfterMs ?? undefined) : undefined;
    return transient(error.name, error.message, delay);
  }
  const failure = serviceFailure(error);
  const isUncertain = error instanceof ServiceError && 'nonRetryable' in failure && failure.nonRetryable !== true;
  return isUncertain ? permanent('StartUncertain', failure.message) : failure;
}
