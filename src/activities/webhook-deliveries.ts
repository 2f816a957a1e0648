import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { readRetryAfter } from '../model/budget/retry-after.ts';
import type { WebhookDelivery, WebhookReceipt } from '../model/webhook-event.ts';
import { sendWebhook, type WebhookAnswer, WebhookUnreachable } from '../webhooks/send-webhook.ts';
import { type ActivityDependencies, organizationOf } from './dependencies.ts';
import { permanent, transient } from './history-safe-failures.ts';

/** Attempts after which a refusal that load did not cause is final. */
const refusalsBelieved = 8;

export const createWebhookActivities = (deps: ActivityDependencies) => ({
  /**
   * Sends a message once; Temporal retries. A receiver that is gone (410) is never retried; other 4xx than 408 and 429
   * only a few times, since the receiver may be under repair. Failures name the webhook and the status, never the address
   * or the answer.
   */
  async sendWebhook(delivery: WebhookDelivery): Promise<WebhookReceipt> {
    const { org, webhook, messageId } = delivery;
    const which = `the webhook ${webhook} of ${org}`;
    const { attempt } = Context.current().info;
    const { status, retryAfter } = await answerTo(deps, delivery, which);
    if (status >= 200 && status < 300) return { messageId, status, attempts: attempt };
    if (status === 410) throw permanent('WebhookRefused', `${which} is gone (410): remove it from the configuration`);
    const message = `${which} answered ${status}`;
    const mayPass = status >= 500 || status === 408 || status === 429;
    if (mayPass) throw transient('WebhookRefused', message, retryInMs(retryAfter));
    throw attempt < refusalsBelieved ? transient('WebhookRefused', message) : permanent('WebhookRefused', message);
  },
});

async function answerTo(deps: ActivityDependencies, delivery: WebhookDelivery, which: string): Promise<WebhookAnswer> {
  const { cancellationSignal } = Context.current();
  const { org, webhook: name, messageId, event } = delivery;
  const webhook = organizationOf(deps, org).webhooks.find((candidate) => candidate.name === name);
  if (webhook === undefined) throw permanent('InvalidInput', `${which} is not in this worker's configuration`);
  try {
    return await sendWebhook(webhook, { messageId, body: JSON.stringify(event) }, cancellationSignal);
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
  const told = readRetryAfter(header ?? undefined, undefined, Date.now());
  return told === null ? undefined : Math.max(1_000, told);
}
