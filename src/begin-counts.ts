import type { Organization } from './activities/dependencies.ts';
import type { Metrics } from './temporal/metrics.ts';
import type { RunOutcome } from './exports/rules/export-outcome.ts';
import type { RolloutResult } from './exports/rules/site-export.ts';
import type { EntryCounts } from './feedback/rules/entry-counts.ts';
import { kindOfTarget } from './activity-metrics.ts';
import { type Endpoint, requestOutcomes } from './counted-service.ts';

/** Every value, so that the compiler names one that is missing. */
const runOutcomes: Record<RunOutcome, true> = {
  published: true,
  unchanged: true,
  rejected: true,
  'rollout-failed': true,
  'rolled-back': true,
  failed: true,
  cancelled: true,
};
const rolloutOutcomes: Record<RolloutResult['outcome'], true> = {
  'rolled-out': true,
  'already-current': true,
  failed: true,
};
const entryOutcomes: Record<Exclude<keyof EntryCounts, 'seen'>, true> = {
  inserted: true,
  updated: true,
  unchanged: true,
  rejected: true,
  tombstoned: true,
};

/**
 * Shows what these organizations can count as 0: a counter that appeared with its first event would hide that event from
 * `increase` and `rate`.
 */
export function beginCounts(metrics: Metrics, organizations: readonly Organization[]): void {
  for (const organization of organizations) {
    if (organization.projects.length > 0) beginFeedback(metrics, organization);
    if (organization.sites.length > 0) beginExports(metrics, organization);
    for (const { name: webhook } of organization.webhooks) {
      for (const outcome of ['accepted', 'retried', 'given-up']) {
        metrics.add('docferry_webhook_deliveries_total', { org: organization.id, webhook, outcome }, 0);
      }
    }
  }
}

/** Like `beginCounts`, for requests to one endpoint. */
export function beginRequests(metrics: Metrics, org: string, endpoint: Endpoint): void {
  for (const outcome of requestOutcomes) metrics.add('docferry_requests_total', { org, endpoint, outcome }, 0);
}

function beginFeedback(metrics: Metrics, { id: org, projects }: Organization): void {
  beginRequests(metrics, org, 'feedback');
  for (const outcome of Object.keys(entryOutcomes)) metrics.add('docferry_feedback_entries_total', { org, outcome }, 0);
  for (const project of projects) {
    for (const outcome of ['completed', 'failed', 'cancelled']) {
      metrics.add('docferry_feedback_passes_total', { org, project, outcome }, 0);
    }
  }
}

function beginExports(metrics: Metrics, { id: org, sites }: Organization): void {
  for (const endpoint of ['start-job', 'job', 'bundle-link'] as const) beginRequests(metrics, org, endpoint);
  for (const outcome of Object.keys(runOutcomes)) metrics.add('docferry_exports_total', { org, outcome }, 0);
  metrics.add('docferry_export_polls_total', { org }, 0);
  metrics.add('docferry_download_bytes_total', { org }, 0);
  const targets = new Set(sites.flatMap((site) => site.targets.map(({ name }) => kindOfTarget(name))));
  for (const target of targets) {
    for (const outcome of Object.keys(rolloutOutcomes)) {
      metrics.add('docferry_rollouts_total', { org, target, outcome }, 0);
    }
  }
}
