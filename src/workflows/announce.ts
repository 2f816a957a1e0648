import {
  CancellationScope,
  ChildWorkflowCancellationType,
  log,
  ParentClosePolicy,
  startChild,
  uuid4,
} from '@temporalio/workflow';
import { workflowTaskTimeoutMs } from '../model/temporal-terms.ts';
import type { WebhookEvent } from '../model/webhook-event.ts';
import { webhookWorkflowId, workflowTypes } from '../model/workflow-ids.ts';
import type { deliverWebhook } from './deliver-webhook.ts';
import { failureSummary } from './failure-summary.ts';
import { attributesOf } from './search-attributes.ts';

/**
 * Has an event told to the webhooks of these names, each by a workflow of its own that outlives this one: whoever waits
 * for the run does not wait for receivers, and nothing that happens to them fails it.
 */
export async function announce(org: string, webhooks: readonly string[], event: WebhookEvent): Promise<void> {
  for (const webhook of webhooks) {
    const messageId = `msg_${uuid4()}`;
    try {
      // Also when the run is cancelled while its end is written: what is told of has happened.
      await CancellationScope.nonCancellable(() =>
        startChild<typeof deliverWebhook>(workflowTypes.deliverWebhook, {
          workflowId: webhookWorkflowId(org, webhook, messageId),
          workflowTaskTimeout: workflowTaskTimeoutMs,
          staticSummary: `${event.type} to ${webhook} (${org})`,
          typedSearchAttributes: attributesOf({ org }),
          parentClosePolicy: ParentClosePolicy.ABANDON,
          cancellationType: ChildWorkflowCancellationType.ABANDON,
          args: [{ org, webhook, messageId, event }],
        }),
      );
    } catch (error) {
      log.error('a webhook could not be told', { webhook, failure: failureSummary(error) });
    }
  }
}
