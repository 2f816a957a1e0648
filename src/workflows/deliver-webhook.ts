import { type ActivityOptions, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { factsTable } from '../model/details-text.ts';
import type { WebhookDelivery, WebhookReceipt } from '../model/webhook-event.ts';

/** A receiver may be down for a day; it is asked ever more rarely. */
const deliveryOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '24h',
  retry: { initialInterval: '2s', backoffCoefficient: 2, maximumInterval: '1h' },
} satisfies ActivityOptions;
const deliveries = proxyActivities<Pick<Activities, 'sendWebhook'>>(deliveryOptions);

/** Brings one message to one receiver, apart from the run that it tells of: nobody waits for it (docs/webhooks.md). */
export async function deliverWebhook(delivery: WebhookDelivery): Promise<WebhookReceipt> {
  const { org, webhook, messageId, event } = delivery;
  const show = (more: [string, string][]) =>
    setCurrentDetails(
      `**${event.type}** to ${webhook} (${org})\n\n${factsTable([['about', event.data.workflowId], ['message', messageId], ...more])}`,
    );
  show([]);
  const receipt = await deliveries.sendWebhook.executeWithOptions(
    { ...deliveryOptions, summary: `${event.type} to ${webhook}` },
    [delivery],
  );
  show([['accepted', `with ${receipt.status}, attempt ${receipt.attempts}`]]);
  return receipt;
}
