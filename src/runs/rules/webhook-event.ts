import { z } from 'zod/mini';
import type { ExportOutcome } from '../../exports/rules/site-export.ts';
import type { EntryCounts, FeedbackEntry } from '../../feedback/rules/feedback-entry.ts';
import type { PassKind, ProjectFindings } from '../../feedback/rules/sync.ts';
import { count, expectation, instant, reader, text, writing } from '../../rules/messages.ts';
import { type Notice, type NoticeType, noticeStates, noticeTypes } from './notices.ts';

/** Events that every run sends when it ends; a refresh only if it found something. */
const runEventTypes = ['feedback.pass.finished', 'feedback.refreshed', 'export.finished'] as const;

/** Events of a webhook that names none, and all events: entries only go to webhooks that ask for them. */
export const usualEventTypes = [...runEventTypes, ...noticeTypes] as const;
export const webhookEventTypes = [...usualEventTypes, 'feedback.entries'] as const;
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
  /** How many further projects changed. */
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

/** Changed entries of a project: where they stand, never what they say. */
const entriesShape = z.object({
  org: text(),
  project: text(),
  /** The range begins after this change and ends with `upTo` (`outgoing-entries.ts`). */
  after: count(),
  upTo: count(),
});
export type EntryRange = z.infer<typeof entriesShape>;

/** The week of a digest, ISO 8601. */
const digestShape = z.object({ org: text(), from: instant(), to: instant() });
type DigestWeek = z.infer<typeof digestShape>;

/** Which entries a webhook gets; an absent field excludes none. */
export interface EntryFilter {
  projects?: readonly string[] | undefined;
  sources?: readonly string[] | undefined;
  statuses?: readonly string[] | undefined;
  helpful?: boolean | undefined;
  /** Only entries with a comment. */
  withWords?: boolean | undefined;
}

/** An entry as webhooks get it, after the privacy rules: without the contact and unknown fields. */
export interface ChangedEntry extends Omit<FeedbackEntry, 'contact' | 'extra'> {
  /** Grows with every change in the project; id and change together identify a change. */
  change: number;
  /** When the store noticed that the service no longer returns it, ISO 8601; null while it does. */
  deletedAt: string | null;
}

/** The content of a weekly digest. */
export interface WeekFigures {
  comments: { count: number; newest: { project: string; path: string; comment: string }[] };
  worstPages: { project: string; path: string; notHelpful: number }[];
  released: { domain: string; versions: number; latest: string | null }[];
}

/** An event to deliver. Entries and digests are only named here; the activity that sends them reads their content. */
export type WebhookEvent = {
  /** When it happened, ISO 8601. */
  timestamp: string;
} & (
  | { type: 'feedback.pass.finished'; data: PassFinished }
  | { type: 'feedback.refreshed'; data: FeedbackRefreshed }
  | { type: 'export.finished'; data: ExportFinished }
  | { type: 'feedback.entries'; data: EntryRange }
  | { type: 'digest'; data: DigestWeek }
  | { type: NoticeType; data: Notice }
);

/** A message as sent: an event with its entries or week. */
export type WebhookMessage =
  | Exclude<WebhookEvent, { type: 'feedback.entries' | 'digest' }>
  | { timestamp: string; type: 'feedback.entries'; data: EntriesSent }
  | { timestamp: string; type: 'digest'; data: WeekSent };

export interface EntriesSent {
  org: string;
  project: string;
  entries: ChangedEntry[];
}

export type WeekSent = DigestWeek & WeekFigures & { waiting: { type: NoticeType; subject: string; since: string }[] };

/** What an event is about, in a few words: the workflow of a run, or the subject of a notice. */
export function aboutEvent({ data }: WebhookEvent): string {
  if ('workflowId' in data) return data.workflowId;
  if ('subject' in data) return `${data.subject} (${data.state})`;
  return 'project' in data ? `${data.project}, changes up to ${data.upTo}` : `the week until ${data.to}`;
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
  /** HTTP status of the answer, 200 to 299; also 204 when nothing was left to send. */
  status: number;
  attempts: number;
}

const maybe = z.nullable(writing());

const passShape = z.object({
  org: text(),
  project: text(),
  pass: text(),
  outcome: text(),
  pages: count(),
  entries: z.object({ seen: count(), inserted: count(), updated: count() }),
  workflowId: text(),
});
const refreshShape = z.object({
  org: text(),
  projects: z.array(z.object({ project: text(), inserted: count(), updated: count(), tombstoned: count() })),
  others: count(),
  workflowId: text(),
});
const exportShape = z.object({
  org: text(),
  domain: text(),
  outcome: text(),
  version: maybe,
  url: maybe,
  held: maybe,
  workflowId: text(),
});

const noticeShape = z.object({
  org: text(),
  subject: writing(),
  state: z.enum(noticeStates),
  since: instant(),
  reason: maybe,
  command: maybe,
  facts: z.object({}),
});

/** What docferry shows of each kind of event: receivers get the event as it is, that of a newer version too. */
const shapes = {
  'feedback.entries': entriesShape,
  digest: digestShape,
  'feedback.pass.finished': passShape,
  'feedback.refreshed': refreshShape,
  'export.finished': exportShape,
};

const eventShape = z
  .looseObject({ type: text(), timestamp: instant(), data: z.looseObject({}) })
  .check(({ value: { type, data }, issues }) => {
    const { error } = z.safeParse(shapes[type as keyof typeof shapes] ?? noticeShape, data, { error: expectation });
    const [issue] = error?.issues ?? [];
    if (!issue) return;
    issues.push({ code: 'custom', message: issue.message, path: ['data', ...issue.path], input: data });
  });

export const readDelivery = reader<WebhookDelivery>(
  z.object({
    org: text(),
    webhook: text(),
    messageId: text(),
    event: eventShape as unknown as z.ZodMiniType<WebhookEvent>,
  }),
);
