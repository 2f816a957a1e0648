import type { EntryCounts } from './sync/entry-counts.ts';
import type { ReadingKind } from './sync/pass-kind.ts';

/** What webhooks can be told of. */
export const webhookEventTypes = ['feedback.pass.finished', 'export.finished'] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];

/** A pass has ended, well or not: counts and ids, never contents. */
export interface PassFinished {
  org: string;
  project: string;
  pass: ReadingKind;
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

/** An export has ended, well or not; `url` is the published address, never the service's link. */
export interface ExportFinished {
  org: string;
  domain: string;
  outcome: 'published' | 'unchanged' | 'rejected' | 'failed' | 'cancelled';
  version: string | null;
  contentDigest: string | null;
  url: string | null;
  /** The version at which a person holds the site: what was published is not in service then. */
  held: string | null;
  workflowId: string;
  runId: string;
}

/** The body of a message, as Standard Webhooks recommends it. */
export type WebhookEvent = {
  /** When it happened, ISO 8601. */
  timestamp: string;
} & ({ type: 'feedback.pass.finished'; data: PassFinished } | { type: 'export.finished'; data: ExportFinished });

/** Input of `deliverWebhook`: where to is known to the worker by the webhook's name, since an address may be secret. */
export interface WebhookDelivery {
  org: string;
  /** Name of the webhook in the configuration of the organization. */
  webhook: string;
  /** The same for all attempts, so that a receiver can drop what comes twice. */
  messageId: string;
  event: WebhookEvent;
}

/** What became of a delivery. */
export interface WebhookReceipt {
  messageId: string;
  /** Status of the answer, 200 to 299. */
  status: number;
  attempts: number;
}
