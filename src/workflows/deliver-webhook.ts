import { defineWorkflowOptions, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { factsTable } from '../rules/details-text.ts';
import { aboutEvent, readDelivery, type WebhookDelivery, type WebhookReceipt } from '../runs/rules/webhook-event.ts';
import { deliveryOptions } from './activity-options.ts';
import { readInput, readsInput } from './read-input.ts';

const deliveries = proxyActivities<Pick<Activities, 'sendWebhook'>>(deliveryOptions);

/** Delivers one message to one receiver, independently of the run it is about, which does not wait (webhooks.md). */
export async function deliverWebhook(given: WebhookDelivery): Promise<WebhookReceipt> {
  const delivery = readInput(readDelivery, given);
  const { org, webhook, messageId, event } = delivery;
  const show = (more: [string, string][]) =>
    setCurrentDetails(
      `**${event.type}** to ${webhook} (${org})\n\n${factsTable([['about', aboutEvent(event)], ['message', messageId], ...more])}`,
    );
  show([]);
  const receipt = await deliveries.sendWebhook.executeWithOptions(
    { ...deliveryOptions, summary: `${event.type} to ${webhook}` },
    [delivery],
  );
  show([['accepted', `with ${receipt.status}, attempt ${receipt.attempts}`]]);
  return receipt;
}
defineWorkflowOptions(deliverWebhook, readsInput);
