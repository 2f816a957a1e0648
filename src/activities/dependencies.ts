import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import type { PermitSource } from '../budget/lease.ts';
import type { WindowView } from '../budget/rules/window-view.ts';
import type { OrganizationConfig, SiteConfig } from '../config/config.ts';
import type { LinkPolicy } from '../exports/fetch/presigned-links.ts';
import type { RolloutTarget } from '../exports/rollout/rollout-target.ts';
import type { ExportPhase } from '../exports/rules/site-export.ts';
import type { BundleStore } from '../exports/store/bundle-store.ts';
import type { RefreshSettings } from '../feedback/rules/refresh-run.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import type { WebhookDelivery } from '../runs/rules/webhook-event.ts';
import type { CutRun } from '../runs/watches.ts';
import type { Webhook } from '../runs/webhooks.ts';
import type { DocumentationService } from '../service/client.ts';
import type { Metrics } from '../temporal/metrics.ts';
import { notConfigured, permanent } from './failures.ts';

/** A site of the configuration. */
export interface Site extends Pick<SiteConfig, 'domain' | 'lateAfterMs' | 'job' | 'approval' | 'bundle'> {
  targets: readonly RolloutTarget[];
}

/** An organization of the configuration. */
export interface Organization extends Pick<OrganizationConfig, 'id' | 'watchEveryMs'> {
  service: DocumentationService;
  projects: readonly Pick<OrganizationConfig['projects'][number], 'id' | 'freshnessMs'>[];
  sites: readonly Site[];
  /** How its feedback is kept fresh; null unless configured. */
  refresh: RefreshSettings | null;
  webhooks: readonly Webhook[];
}

/** What Temporal knows about an organization. */
interface Outlook {
  /** The window of its budget; null when none runs. */
  budget(org: string): Promise<WindowView | null>;
  refusedRuns(org: string): Promise<number>;
  /** The runs that ended without their own code since a moment, in milliseconds. */
  cutRuns(org: string, since: number): Promise<CutRun[]>;
}

/** What Temporal answers to a heartbeat; `over`: paused, reset, timed out, or the run is gone. */
export type HeartbeatAnswer = 'accepted' | 'cancelled' | 'over' | 'unreachable';

/** Everything activities touch; made once by the worker. */
export interface ActivityDependencies {
  organizations: readonly Organization[];
  feedback: FeedbackStore;
  bundles: BundleStore;
  /** Newest versions of each site that are kept in the bundle store. */
  keepVersions: number;
  permits: PermitSource;
  linkPolicy: LinkPolicy;
  metrics: Metrics;
  outlook: Outlook;
  /** Has a message delivered, at most once however often it is called; does not wait for the receiver. */
  deliver(delivery: WebhookDelivery): Promise<void>;
  /** Has the schedule start the next refresh no earlier than at this moment, in ms; an earlier one undoes that. */
  postponeRefresh(org: string, at: number): Promise<void>;
  /** Notifies the export's workflow that a long activity entered another phase. */
  announcePhase(workflowId: string, phase: ExportPhase): Promise<void>;
  /** Gives Temporal an attempt's heartbeat. Throws when Temporal refuses it, and would refuse it again. */
  recordHeartbeat(taskToken: Uint8Array, details: unknown): Promise<HeartbeatAnswer>;
}

export function organizationOf(deps: ActivityDependencies, org: string): Organization {
  const found = deps.organizations.find((candidate) => candidate.id === org);
  if (!found) throw notConfigured('InvalidInput', `organization ${org} is not in this worker's configuration`);
  return found;
}

export function siteOf(deps: ActivityDependencies, org: string, domain: string): Site {
  const found = organizationOf(deps, org).sites.find((site) => site.domain === domain);
  if (!found) throw notConfigured('UnknownSite', `site ${domain} is not in the worker's configuration of ${org}`);
  return found;
}

/** A store, and those it was restored or moved from. */
type StoreIdentity = Pick<FeedbackStore, 'identity' | 'predecessors'>;

/** Throws unless this worker's store is the one the run began with, or its successor. */
export function requireStore(
  what: 'feedback' | 'bundle',
  pinned: string,
  { identity, predecessors }: StoreIdentity,
): void {
  if (pinned === identity || predecessors.includes(pinned)) return;
  throw permanent(
    'StoreMismatch',
    `this worker's ${what} store is not the one this run began with: give all workers of a task queue the same store`,
  );
}

/** How long a step that can do without the database waits for it: less than a workflow task may take. */
export const databaseAnswersWithinMs = 1_000;

/** The answer, or null when it takes longer. Throws what the answer throws in time. */
export async function answerWithin<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer | null> {
  const waited = new AbortController();
  const tooLate = sleep(ms, null, { signal: waited.signal });
  tooLate.catch(() => {});
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    waited.abort();
  }
}

/** The run that this step belongs to. */
export function runOf(): { workflowId: string; runId: string } {
  const { workflowId = '', runId = '' } = activityInfo().workflowExecution ?? {};
  return { workflowId, runId };
}

/** Now by Temporal's clock, but for the time in the queue: a worker's own may be wrong (decisions/0049). */
export const scheduledAt = (): Date => new Date(activityInfo().currentAttemptScheduledTimestampMs);

/** The same for a step that takes its time: from now on it goes by the monotonic clock. In whole milliseconds. */
export function temporalClock(): () => number {
  const [at, since] = [scheduledAt().getTime(), performance.now()];
  return () => Math.floor(at + performance.now() - since);
}
