import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { PermitSource } from '../budget/lease.ts';
import type { WindowView } from '../budget/rules/window-view.ts';
import type { OrganizationConfig, SiteConfig } from '../config/config.ts';
import {
  ArchiveTooLarge,
  DownloadFailed,
  LinkExpired,
  type LinkPolicy,
  LinkRefused,
  NoRoom,
} from '../exports/fetch/presigned-links.ts';
import type { RolloutTarget } from '../exports/rollout/rollout-target.ts';
import type { ExportPhase } from '../exports/rules/site-export.ts';
import {
  type BundleStore,
  NoSuchVersion,
  PointerMoved,
  RecordDamaged,
  SignedByUnknownKey,
  SigningKeyUnusable,
  SiteHeld,
  StagedChanged,
  StoreBusy,
  StoreNotWritable,
  StoreRefused,
  StoreUnreachable,
  VersionConflict,
  VersionDamaged,
} from '../exports/store/bundle-store.ts';
import { BrowserUnusable } from '../exports/verify/find-browser.ts';
import type { RefreshSettings } from '../feedback/rules/sync.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import type { FailureType } from '../rules/errors.ts';
import type { WebhookDelivery } from '../runs/rules/webhook-event.ts';
import type { CutRun } from '../runs/watches.ts';
import type { Webhook } from '../runs/webhooks.ts';
import type { DocumentationService } from '../service/client.ts';
import {
  BadRequest,
  MalformedResponse,
  NetworkError,
  NotFound,
  NotReady,
  PlanRequired,
  RateLimited,
  ServerError,
  ServiceError,
  Unauthorized,
} from '../service/errors.ts';
import type { Metrics } from '../temporal/metrics.ts';
import { failedBy, type HeartbeatAnswer } from './attempts.ts';

/** A failure fit for a history: never the original error, which may contain requests, links or content (X1). */
export function permanent(type: FailureType, message: string, details: string[] = []): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true, details });
}

/** Longest delay before a retry, even if the service asks for more: the activity must not time out while waiting. */
const longestRetryMs = 15 * 60_000;

/** Like `permanent`, for transient failures: Temporal retries, after `retryInMs` if given. */
export function transient(type: FailureType, message: string, retryInMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: false,
    ...(retryInMs === undefined ? {} : { nextRetryDelay: Math.min(retryInMs, longestRetryMs) }),
  });
}

const unconfigured = { tries: 31, retryInMs: 10_000 };

/** For what this worker's configuration lacks: another worker may have it, or this one soon. Final after five minutes. */
export function notConfigured(type: FailureType, message: string): ApplicationFailure {
  if (failedBy('unconfigured') >= unconfigured.tries) return permanent(type, message);
  return transient(type, message, unconfigured.retryInMs);
}

/** For a version that may not be used. Where this worker only lacks its key, another one may have it (X5). */
export function versionFailure(type: FailureType, error: VersionDamaged): ApplicationFailure {
  return (error instanceof SignedByUnknownKey ? notConfigured : permanent)(type, error.message);
}

/** What a log may say of any error: its message may hold requests, links or content (X1). */
export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');

/** Whether a failure is already fit for a history, so that it passes through. */
export function isTemporalFailure(error: unknown): error is ApplicationFailure | CancelledFailure {
  return error instanceof ApplicationFailure || error instanceof CancelledFailure;
}

/** After so many answers malformed JSON is final; before that the service may still be writing. HTML means an outage. */
const patientAnswers = 10;

/** What a workflow sees of an error of the service: type and message. Malformed JSON is final in time if `counted`. */
export function serviceFailure(error: unknown, counted = false): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof Unauthorized || error instanceof PlanRequired || error instanceof NotFound) {
    return permanent(error.name, error.message);
  }
  if (error instanceof BadRequest) return permanent('BadRequest', [error.message, ...error.details].join('; '));
  if (error instanceof NotReady || error instanceof NetworkError) return transient(error.name, error.message);
  if (error instanceof RateLimited || error instanceof ServerError) {
    return transient(error.name, error.message, error.retryAfterMs ?? undefined);
  }
  if (error instanceof MalformedResponse) {
    const lasts = counted && error.held === 'JSON' && failedBy('malformed') >= patientAnswers;
    return (lasts ? permanent : transient)('MalformedResponse', error.message);
  }
  if (error instanceof ServiceError) return new CancelledFailure(error.message);
  return error instanceof Error ? error : new Error('unknown failure');
}

/**
 * The failure a workflow sees for an error of the bundle store; null for other errors. What only a person can fix is
 * final; a full disk, credentials about to be renewed and a store that is down are transient.
 */
export function storeFailure(error: unknown): ApplicationFailure | null {
  if (error instanceof VersionDamaged) return versionFailure('PublishRefused', error);
  if (error instanceof VersionConflict || error instanceof StagedChanged) {
    return permanent('PublishRefused', error.message);
  }
  if (error instanceof SigningKeyUnusable || error instanceof RecordDamaged) {
    return permanent('StoreUnavailable', `${error.message}: ${error.hint}`);
  }
  if (error instanceof NoSuchVersion) return permanent('NotFound', error.message);
  if (error instanceof StoreRefused) {
    const message = `${error.message}: ${error.hint}`;
    return error.mayPass ? transient('StoreUnavailable', message) : permanent('StoreUnavailable', message);
  }
  if (error instanceof StoreUnreachable || error instanceof StoreNotWritable || error instanceof StoreBusy) {
    return transient('StoreUnavailable', error.message);
  }
  return null;
}

/** Like `bundleFailure`, for steps that move the pointer. */
export function publishFailure(error: unknown, domain: string): Error {
  if (error instanceof PointerMoved) {
    return permanent('Superseded', `another run has published ${domain} meanwhile; its version stays current`);
  }
  if (error instanceof SiteHeld) return permanent('SiteHeld', error.message);
  return bundleFailure(error);
}

/** How many attempts a step has whose browser was killed, or started too slowly. */
const browserTries = 4;

/** The failure a workflow sees for an error on the way from a job to a published version. */
export function bundleFailure(error: unknown): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof BrowserUnusable) {
    const message = `${error.message}: ${error.hint}`;
    const goesOn = error.mayPass && failedBy('browser') < browserTries;
    return goesOn ? transient('InvalidInput', message) : permanent('InvalidInput', message);
  }
  // Known when it was polled, it has vanished before its bundle was asked for: the workflow starts another (E2).
  if (error instanceof NotFound) return permanent('JobFailed', 'the service no longer knows the job');
  if (error instanceof LinkRefused) return permanent('LinkRefused', error.message);
  if (error instanceof ArchiveTooLarge) return permanent('ArchiveTooLarge', error.message);
  if (error instanceof NoRoom) return transient('StoreUnavailable', error.message);
  if (error instanceof LinkExpired) return transient('DownloadFailed', error.message);
  if (error instanceof DownloadFailed) {
    const { message, retryable, retryAfterMs } = error;
    if (!retryable) return permanent('DownloadFailed', message);
    return transient('DownloadFailed', message, retryAfterMs ?? undefined);
  }
  return storeFailure(error) ?? serviceFailure(error, true);
}

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
