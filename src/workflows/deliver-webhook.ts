import {
  CancellationScope,
  ChildWorkflowCancellationType,
  defineWorkflowOptions,
  log,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  startChild,
  uuid4,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { attributesOf } from '../contract.ts';
import { factsTable } from '../rules/text.ts';
import { webhookWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { readDelivery } from '../runs/rules/run-messages.ts';
import {
  aboutEvent,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookReceipt,
} from '../runs/rules/webhook-event.ts';
import { taskTimeoutFor } from '../temporal/rules/failover.ts';
import { deliveryOptions, failureSummary, readInput, readsInput, runFailover } from './kit.ts';

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

/**
 * Starts a workflow for each of these webhooks that delivers the event and outlives this run: the run neither waits for
 * receivers nor fails because of them.
 */
export async function announce(org: string, webhooks: readonly string[], event: WebhookEvent): Promise<void> {
  for (const webhook of webhooks) {
    const messageId = `msg_${uuid4()}`;
    try {
      // Even if the run is cancelled while its end is recorded: the event has happened.
      await CancellationScope.nonCancellable(() =>
        startChild<typeof deliverWebhook>(workflowTypes.deliverWebhook, {
          workflowId: webhookWorkflowId(org, webhook, messageId),
          ...taskTimeoutFor(runFailover()),
          staticSummary: `${event.type} to ${webhook} (${org})`,
          typedSearchAttributes: attributesOf({ org }),
          parentClosePolicy: ParentClosePolicy.ABANDON,
          cancellationType: ChildWorkflowCancellationType.ABANDON,
          args: [{ org, webhook, messageId, event }],
        }),
      );
    } catch (error) {
      log.error('the delivery to a webhook could not be started', { webhook, failure: failureSummary(error) });
    }
  }
}
