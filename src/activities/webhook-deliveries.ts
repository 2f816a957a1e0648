import { Context, log } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { readRetryAfter } from '../rules/retry-after.ts';
import type { AuditAction } from '../runs/rules/audit.ts';
import { causesHolding } from '../runs/rules/due-notices.ts';
import type { Notice } from '../runs/rules/notices.ts';
import type { WebhookDelivery, WebhookEvent, WebhookMessage, WebhookReceipt } from '../runs/rules/webhook-event.ts';
import { messageBody } from '../runs/webhook-formats.ts';
import { sendWebhook, settingsMark, type Webhook, type WebhookAnswer, WebhookUnreachable } from '../runs/webhooks.ts';
import {
  type ActivityDependencies,
  answerWithin,
  databaseAnswersWithinMs,
  organizationOf,
  scheduledAt,
} from './dependencies.ts';
import { nameOf, notConfigured, permanent, transient } from './failures.ts';
import { stillMine } from './heartbeats.ts';
import { goneWebhooks, isGone, recordNotices } from './notices.ts';

/** Attempts after which a refusal that load did not cause is final. */
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
  throw attempt < refusalsBelieved ? transient('WebhookRefused', message) : permanent('WebhookRefused', message);
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
    const reason = 'it answers 410: it gets no message until its settings change';
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
  for await (const { action, who, reason } of feedback.listAuditEntries({ org, subject, since: from })) {
    const decided: Notice['decided'] = { who, why: reason };
    if (actions.includes(action)) return { ...event, data: { ...data, decided } } as WebhookMessage;
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
