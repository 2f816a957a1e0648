import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Activities } from './activities/index.ts';
import type { Metrics } from './temporal/metrics.ts';

type Input<Name extends keyof Activities> = Parameters<Activities[Name]>[0];
type Result<Name extends keyof Activities> = Awaited<ReturnType<Activities[Name]>>;

/** What is counted when an activity succeeds or fails; `final` if it is not retried. */
type Observers = {
  [Name in keyof Activities]?: {
    succeeded(metrics: Metrics, input: Input<Name>, result: Result<Name>): void;
    failed?(metrics: Metrics, input: Input<Name>, final: boolean): void;
  };
};

const observers: Observers = {
  recordExportRun: {
    succeeded(metrics, { org, outcome, polls, jobMs }) {
      metrics.add('docferry_exports_total', { org, outcome });
      metrics.add('docferry_export_polls_total', { org }, polls);
      if (jobMs !== null) metrics.observe('docferry_export_job_seconds', { org }, jobMs / 1_000);
    },
  },
  rollOut: {
    succeeded: (metrics, { org, target }, { outcome }) =>
      metrics.add('docferry_rollouts_total', { org, target: kindOfTarget(target), outcome }),
    failed(metrics, { org, target }, final) {
      if (final) metrics.add('docferry_rollouts_total', { org, target: kindOfTarget(target), outcome: 'failed' });
    },
  },
  finishPass: {
    succeeded: (metrics, { org, project, outcome }) =>
      metrics.add('docferry_feedback_passes_total', { org, project, outcome }),
  },
  sendWebhook: {
    succeeded: (metrics, { org, webhook }) =>
      metrics.add('docferry_webhook_deliveries_total', { org, webhook, outcome: 'accepted' }),
    failed: (metrics, { org, webhook }, final) =>
      metrics.add('docferry_webhook_deliveries_total', { org, webhook, outcome: final ? 'given-up' : 'retried' }),
  },
};

/** Counts what activities bring about. A result that is lost on its way to Temporal is counted again. */
export function activityMetrics(metrics: Metrics): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const observer = observerOf(info.activityType);
        const [first] = input.args;
        try {
          const result = await next(input);
          observer?.succeeded(metrics, first, result);
          return result;
        } catch (error) {
          // A step that was cancelled, or is handed to another worker, has not failed.
          if (error instanceof ApplicationFailure && error.type !== 'WorkerShutdown') {
            observer?.failed?.(metrics, first, error.nonRetryable === true);
          }
          throw error;
        }
      },
    },
  });
}

interface AnyObserver {
  succeeded(metrics: Metrics, input: unknown, result: unknown): void;
  failed?(metrics: Metrics, input: unknown, final: boolean): void;
}

/** Temporal matches names with inputs and results; the compiler has matched them above. */
function observerOf(activityType: string): AnyObserver | undefined {
  return Object.hasOwn(observers, activityType)
    ? (observers[activityType as keyof Activities] as AnyObserver)
    : undefined;
}

/** `directory` of `directory:./site`: names differ from site to site. */
export function kindOfTarget(target: string): string {
  return target.split(':', 1)[0] ?? '';
}
