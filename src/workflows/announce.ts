import {
  CancellationScope,
  ChildWorkflowCancellationType,
  log,
  ParentClosePolicy,
  startChild,
  uuid4,
} from '@temporalio/workflow';
import { taskTimeoutFor } from '../temporal/rules/failover.ts';
import type { WebhookEvent } from '../runs/rules/webhook-event.ts';
import { webhookWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import type { deliverWebhook } from './deliver-webhook.ts';
import { failureSummary } from './failure-summary.ts';
import { runHandover } from './handover.ts';
import { attributesOf } from '../search-attributes.ts';

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
          ...taskTimeoutFor(runHandover()),
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
