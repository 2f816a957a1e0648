import { createHash } from 'node:crypto';
import { Context, log } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { EndDetail } from '../exports/rules/site-export.ts';
import type { ExportRunRow } from '../feedback/store/run-records.ts';
import { readRetryAfter } from '../rules/retry-after.ts';
import type { AuditAction, AuditEntry } from '../runs/rules/audit.ts';
import {
  causesHolding,
  dueNotices,
  exportNotices,
  helpfulCommand,
  type Notice,
  type Noticed,
  type NoticeType,
  noticeOf,
} from '../runs/rules/notices.ts';
import type {
  WebhookDelivery,
  WebhookEvent,
  WebhookEventType,
  WebhookMessage,
  WebhookReceipt,
} from '../runs/rules/webhook-event.ts';
import {
  messageBody,
  sendWebhook,
  settingsMark,
  type Webhook,
  type WebhookAnswer,
  WebhookUnreachable,
} from '../runs/webhooks.ts';
import { failedBy } from './attempts.ts';
import {
  type ActivityDependencies,
  answerWithin,
  databaseAnswersWithinMs,
  nameOf,
  notConfigured,
  organizationOf,
  permanent,
  scheduledAt,
  transient,
} from './dependencies.ts';
import { stillMine } from './heartbeats.ts';

/**
 * Names of the organization's webhooks that receive such events: none if the organization is no longer configured, and
 * none whose receiver is gone. Never throws: while the database is down, all receivers count as present.
 */
export async function subscribers(deps: ActivityDependencies, org: string, type: WebhookEventType): Promise<string[]> {
  const { webhooks = [] } = deps.organizations.find((candidate) => candidate.id === org) ?? {};
  const names = webhooks.filter(({ events }) => events.includes(type)).map(({ name }) => name);
  if (names.length === 0) return [];
  try {
    const gone = await answerWithin(databaseAnswersWithinMs, goneWebhooks(deps, org));
    if (gone === null) return names;
    return names.filter((name) => !webhooks.some((webhook) => webhook.name === name && isGone(webhook, gone)));
  } catch (error) {
    log.warn('which webhooks are gone is not known', { org, failure: nameOf(error) });
    return names;
  }
}

/** The settings with which receivers answered that they are gone (410), by the webhook's name. */
export async function goneWebhooks(
  { feedback }: ActivityDependencies,
  org: string,
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await feedback.noticeRows(org);
  const gone = rows.filter(({ type, open }) => open && type === 'webhook.gone');
  return new Map(gone.map(({ subject, mark }) => [subject, mark]));
}

/** Whether the receiver is gone, with the settings the webhook has now. */
export function isGone(webhook: Webhook, gone: ReadonlyMap<string, string | null>): boolean {
  const mark = gone.get(webhook.name);
  return mark !== undefined && mark === markOf(webhook);
}

/** Null when address or secret cannot be read: then they are not those that were used. */
function markOf(webhook: Webhook): string | null {
  try {
    return settingsMark(webhook);
  } catch {
    return null;
  }
}

/** The step that noticed something, and when. */
interface Noticing {
  org: string;
  /** The same in every try of the step that noticed, and no other step's. */
  by: string;
  at: Date;
}

/** Records conditions that the watch tells people of (`sendDueNotices`); sends acts and reminders. Safe to repeat. */
export async function recordNotices(
  deps: ActivityDependencies,
  noticed: readonly Noticed[],
  who: Noticing,
): Promise<void> {
  for (const { again, ...turn } of noticed) {
    if (again === undefined && turn.state !== 'happened') await deps.feedback.turnNotice({ ...turn, ...who });
    else await sendAlone(deps, turn, who, again);
  }
}

/** Like `recordNotices`, for what must be told even while the database is down: then at once, and perhaps twice. */
export async function recordNoticesAlways(deps: ActivityDependencies, noticed: Noticed, who: Noticing): Promise<void> {
  try {
    await recordNotices(deps, [noticed], who);
  } catch (error) {
    log.warn('sent a notice that people may know already', {
      failure: nameOf(error),
    });
    await sendAlone(deps, noticed, who);
  }
}

async function sendAlone(deps: ActivityDependencies, noticed: Noticed, { org, by, at }: Noticing, since?: string) {
  const { type, subject, state, reason = null, facts = {} } = noticed;
  const command = helpfulCommand(type, subject, org);
  const notice = { org, subject, state, since: since ?? at.toISOString(), reason, command, facts };
  await send(deps, { type, timestamp: at.toISOString(), data: notice }, [subject, state, by]);
}

/** Tells people what they do not know yet. Interrupted, it sends the same messages again. */
export async function sendDueNotices(deps: ActivityDependencies, org: string, at: Date): Promise<void> {
  const { groups, known } = dueNotices(await deps.feedback.noticeRows(org), at.getTime());
  for (const [first, ...more] of groups) {
    if (first === undefined) continue;
    const data = noticeOf(org, [first, ...more]);
    const about = [first, ...more].flatMap(({ subject, open, changedAt }) => [subject, String(open), changedAt]);
    await send(deps, { type: first.type, timestamp: at.toISOString(), data }, about);
    const toldAt = at.toISOString();
    await deps.feedback.markTold(
      org,
      [first, ...more].map((row) => ({ ...row, toldAt })),
    );
  }
  await deps.feedback.markTold(org, known);
}

/** The same for the same facts: a message that is sent again is recognized. */
export function messageIdOf(about: readonly unknown[]): string {
  return `msg_${createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 32)}`;
}

async function send(
  deps: ActivityDependencies,
  event: { type: NoticeType; timestamp: string; data: Notice },
  about: readonly string[],
): Promise<void> {
  const { org, subject } = event.data;
  const message = { org, messageId: messageIdOf([org, event.type, ...about]), event };
  // A webhook gets no notice about itself.
  const names = (await subscribers(deps, org, event.type)).filter(
    (name) => event.type !== 'webhook.gone' || name !== subject,
  );
  for (const webhook of names) await deps.deliver({ ...message, webhook });
}

/** Records the notices of an export or rollback whose row is written. A row that comes late says nothing of the present. */
export async function recordExportNotices(deps: ActivityDependencies, row: ExportRunRow): Promise<void> {
  const { org, domain, runId, finishedAt } = row;
  const [newest] = await deps.feedback.listExportRuns({ org, domain, limit: 1 });
  if (newest !== undefined && newest.runId !== runId) return;
  await recordNotices(deps, exportNotices(row), { org, by: `run ${runId}`, at: new Date(finishedAt) });
}

/** `directory` of `directory:./site`: names differ from site to site. */
export const kindOfTarget = (target: string): string => target.split(':', 1)[0] ?? '';

/** Counts a run that has ended; once more if its row is written again. */
function countRun({ metrics }: ActivityDependencies, { org, outcome, polls, jobMs, detail }: ExportRunRow): void {
  const { rollouts = [] } = JSON.parse(detail) as EndDetail;
  for (const { target, outcome } of rollouts) {
    metrics.add('docferry_rollouts_total', { org, target: kindOfTarget(target), outcome });
  }
  metrics.add('docferry_exports_total', { org, outcome });
  metrics.add('docferry_export_polls_total', { org }, polls);
  if (jobMs !== null) metrics.observe('docferry_export_job_seconds', { org }, jobMs / 1_000);
}

export const createRecordActivities = (deps: ActivityDependencies) => ({
  /** Leaves the run's row in the store, which outlives Temporal's retention (X4), and records its notices. Safe to repeat. */
  async recordExportRun(row: ExportRunRow): Promise<void> {
    await deps.feedback.recordExportRun(row);
    await recordExportNotices(deps, row);
    countRun(deps, row);
  },

  /** Keeps what a person did (audit.md). Safe to repeat. */
  async recordAuditEntry(entry: AuditEntry): Promise<void> {
    await deps.feedback.recordAuditEntries([entry]);
  },
});

/** After so many refusals that load did not cause, the last one is final. */
const refusalsBelieved = 8;

export const createWebhookActivities = (deps: ActivityDependencies) => ({
  /**
   * Sends a message once; Temporal retries. A receiver that is gone (410) is never retried; other 4xx than 408 and 429
   * only a few times, since the receiver may be under repair. Failures name the webhook and the status, never the address
   * or the answer.
   */
  async sendWebhook(delivery: WebhookDelivery): Promise<WebhookReceipt> {
    const { org, webhook } = delivery;
    const count = (outcome: string) => deps.metrics.add('docferry_webhook_deliveries_total', { org, webhook, outcome });
    try {
      const receipt = await sendOnce(deps, delivery);
      count('accepted');
      return receipt;
    } catch (error) {
      // A step that was cancelled, or is handed to another worker, has not failed.
      if (error instanceof ApplicationFailure && error.type !== 'WorkerShutdown') {
        count(error.nonRetryable ? 'given-up' : 'retried');
      }
      throw error;
    }
  },
});

async function sendOnce(deps: ActivityDependencies, delivery: WebhookDelivery): Promise<WebhookReceipt> {
  const { org, webhook, messageId } = delivery;
  const which = `the webhook ${webhook} of ${org}`;
  const { attempt } = Context.current().info;
  const receiver = receiverOf(deps, delivery, which);
  const gone = permanent('WebhookRefused', `${which} is gone (410): correct or remove it in the configuration`);
  if (await isKnownGone(deps, org, receiver)) throw gone;
  await stillMine(deps);
  // Read at every attempt, so that a retry does not send what has been erased meanwhile.
  const content = await messageOf(deps, delivery, receiver);
  if (content === null) return { messageId, status: 204, attempts: attempt };
  const { status, retryAfter } = await answerTo(receiver, messageId, content, which);
  if (status >= 200 && status < 300) return { messageId, status, attempts: attempt };
  if (status === 410) {
    await noteGone(deps, delivery, receiver);
    throw gone;
  }
  const message = `${which} answered ${status}`;
  const mayPass = status >= 500 || status === 408 || status === 429;
  if (mayPass) throw transient('WebhookRefused', message, retryInMs(retryAfter));
  throw failedBy('refused') < refusalsBelieved
    ? transient('WebhookRefused', message)
    : permanent('WebhookRefused', message);
}

function receiverOf(deps: ActivityDependencies, { org, webhook: name }: WebhookDelivery, which: string): Webhook {
  const webhook = organizationOf(deps, org).webhooks.find((candidate) => candidate.name === name);
  if (webhook === undefined) throw notConfigured('InvalidInput', `${which} is not in this worker's configuration`);
  return webhook;
}

/**
 * Whether the receiver has said before that it is gone. While the database is down, docferry asks the receiver again.
 */
async function isKnownGone(deps: ActivityDependencies, org: string, receiver: Webhook): Promise<boolean> {
  try {
    const gone = await answerWithin(databaseAnswersWithinMs, goneWebhooks(deps, org));
    return gone !== null && isGone(receiver, gone);
  } catch {
    return false;
  }
}

async function noteGone(deps: ActivityDependencies, delivery: WebhookDelivery, receiver: Webhook): Promise<void> {
  const { org, webhook: subject, messageId } = delivery;
  const who = { org, by: `delivery ${messageId}`, at: scheduledAt() };
  const notice = { type: 'webhook.gone', subject } as const;
  try {
    // One that is known is that of earlier settings.
    await recordNotices(deps, [{ ...notice, state: 'ended', silent: true }], { ...who, by: `${who.by} before` });
    const reason = 'it answers 410 and gets no message: change its url, secret or format, and restart the workers';
    await recordNotices(deps, [{ ...notice, state: 'begun', reason, mark: settingsMark(receiver) }], who);
  } catch (error) {
    log.warn('that a webhook is gone is not noted', { org, failure: nameOf(error) });
  }
}

/** Entries in one message at most. */
export const entriesAtOnce = 100;

/** The message to send, with entries and digests as the store has them now; null when none of them is left. */
async function messageOf(
  { feedback }: ActivityDependencies,
  { event }: WebhookDelivery,
  receiver: Webhook,
): Promise<WebhookMessage | null> {
  const { timestamp } = event;
  if (event.type === 'feedback.entries') {
    const { org, project } = event.data;
    const entries = await feedback.changedEntries(event.data, receiver.entries ?? {}, entriesAtOnce);
    return entries.length === 0 ? null : { type: event.type, timestamp, data: { org, project, entries } };
  }
  if (event.type !== 'digest') return await withDecision(feedback, event);
  const { org, from, to } = event.data;
  const waiting = causesHolding(await feedback.noticeRows(org)).map(({ type, subject, since }) => ({
    type,
    subject,
    since,
  }));
  return {
    type: event.type,
    timestamp,
    data: { org, from, to, ...(await feedback.weekFigures(org, from, to)), waiting },
  };
}

/** By type and state of a notice, the acts of people that cause it. */
const acts: Record<string, readonly AuditAction[]> = {
  'site.held begun': ['hold'],
  'site.held ended': ['release'],
  'site.rolled-back happened': ['rollback'],
  'approval.wanted ended': ['approve', 'reject'],
};
/** The watch finds at its next look what people have done. */
const longestLookMs = 86_400_000;
/** The operator's clock may be ahead of the worker's. */
const clocksDifferMs = 60_000;

/** With who did it and why, which no history holds: the audit says so. */
async function withDecision(
  feedback: ActivityDependencies['feedback'],
  event: Exclude<WebhookEvent, { type: 'feedback.entries' | 'digest' }>,
): Promise<WebhookMessage> {
  const { data } = event;
  if (!('subject' in data)) return event;
  const { org, subject, state, since } = data;
  const actions = acts[`${event.type} ${state}`] ?? [];
  if (actions.length === 0) return event;
  const from = state === 'ended' ? since : new Date(Date.parse(since) - longestLookMs).toISOString();
  // A message may go out hours later, when others have acted.
  const to = Date.parse(event.timestamp) + clocksDifferMs;
  for await (const { at, action, who, reason } of feedback.listAuditEntries({ org, subject, since: from })) {
    const decided: Notice['decided'] = { who, why: reason };
    if (actions.includes(action) && Date.parse(at) <= to)
      return { ...event, data: { ...data, decided } } as WebhookMessage;
  }
  return event;
}

async function answerTo(
  webhook: Webhook,
  messageId: string,
  message: WebhookMessage,
  which: string,
): Promise<WebhookAnswer> {
  const { cancellationSignal } = Context.current();
  try {
    const body = messageBody(message, webhook.format, webhook.console);
    return await sendWebhook(webhook, { messageId, body }, cancellationSignal);
  } catch (error) {
    if (cancellationSignal.aborted) throw new CancelledFailure('cancelled');
    if (error instanceof WebhookUnreachable) {
      throw transient('WebhookUnreachable', `${which} cannot be reached: ${error.message}`);
    }
    // No setting may enter a history; `docferry doctor` says what is wrong.
    throw permanent('InvalidInput', `${which} cannot be used: \`docferry doctor\` says why`);
  }
}

/** The delay that the receiver asks for, at least a second; undefined for none. */
function retryInMs(header: string | null): number | undefined {
  const askedMs = readRetryAfter(header ?? undefined, undefined, Date.now());
  return askedMs === null ? undefined : Math.max(1_000, askedMs);
}
