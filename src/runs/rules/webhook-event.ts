import type { ExportOutcome } from '../../exports/rules/site-export.ts';
import type { EntryCounts } from '../../feedback/rules/feedback-entry.ts';
import type { PassKind } from '../../feedback/rules/pass-bounds.ts';
import type { ProjectFindings } from '../../feedback/rules/refresh-run.ts';
import { type Notice, type NoticeType, noticeTypes } from './notices.ts';

/** Events that every run sends when it ends; a refresh only if it found something. */
const runEventTypes = ['feedback.pass.finished', 'feedback.refreshed', 'export.finished'] as const;

/** Events that are sent to webhooks. */
export const webhookEventTypes = [...runEventTypes, ...noticeTypes] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];

/** How a message is written: signed by Standard Webhooks, or as an incoming webhook of Slack or Teams takes it. */
export const webhookFormats = ['standard', 'slack', 'teams'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** A pass has ended, successfully or not: counts and ids, never contents. */
export interface PassFinished {
  org: string;
  project: string;
  pass: PassKind;
  outcome: 'completed' | 'failed' | 'cancelled';
  pages: number;
  requests: number;
  throttled: number;
  entries: EntryCounts;
  watermark: string | null;
  verifiedUpTo: string | null;
  workflowId: string;
  runId: string;
}

/** A refresh has found something: by project, of at most `mostNamed` of them. */
export interface FeedbackRefreshed {
  org: string;
  projects: Omit<ProjectFindings, 'problem'>[];
  /** Further projects in which it found something. */
  others: number;
  workflowId: string;
  runId: string;
}

/** An export has ended, successfully or not; `url` is the published address, never the service's link. */
export interface ExportFinished {
  org: string;
  domain: string;
  outcome: ExportOutcome | 'failed' | 'cancelled';
  version: string | null;
  contentDigest: string | null;
  url: string | null;
  /** The version at which a person holds the site; then the published one is not in service. */
  held: string | null;
  workflowId: string;
  runId: string;
}

/** The body of a message, as Standard Webhooks recommends it. */
export type WebhookEvent = {
  /** When it happened, ISO 8601. */
  timestamp: string;
} & (
  | { type: 'feedback.pass.finished'; data: PassFinished }
  | { type: 'feedback.refreshed'; data: FeedbackRefreshed }
  | { type: 'export.finished'; data: ExportFinished }
  | { type: NoticeType; data: Notice }
);

/** What an event is about, in a few words: the workflow of a run, or the subject of a notice. */
export function aboutEvent({ data }: WebhookEvent): string {
  return 'workflowId' in data ? data.workflowId : `${data.subject} (${data.state})`;
}

/** Input of `deliverWebhook`. The worker knows the address by the webhook's name: it may be secret. */
export interface WebhookDelivery {
  org: string;
  /** Name of the webhook in the configuration of the organization. */
  webhook: string;
  /** The same for all attempts, so that a receiver can drop repeats. */
  messageId: string;
  event: WebhookEvent;
}

/** Result of a delivery. */
export interface WebhookReceipt {
  messageId: string;
  /** HTTP status of the answer, 200 to 299. */
  status: number;
  attempts: number;
}
