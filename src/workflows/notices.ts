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
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { attributesOf } from '../contract.ts';
import { clockTime, factsTable } from '../rules/text.ts';
import { webhookWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import type { LastLook, WatchInput } from '../runs/rules/notices.ts';
import { readDelivery, readLastLook, readWatchInput } from '../runs/rules/run-messages.ts';
import {
  aboutEvent,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookReceipt,
} from '../runs/rules/webhook-event.ts';
import { taskTimeoutFor } from '../temporal/rules/failover.ts';
import {
  deliveryOptions,
  failureSummary,
  followFailover,
  readInput,
  readsInput,
  runFailover,
  watchOptions,
} from './kit.ts';

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

type Look = Awaited<ReturnType<Activities['lookAround']>>;

const watch = proxyActivities<Pick<Activities, 'lookAround'>>(watchOptions);

/**
 * Checks once what has become late, stale, starved, held, drifted or refused in an organization, sends notices (webhooks.md),
 * reads targets back, and leaves the rows of runs that ended without one. Its schedule starts it every few minutes, and hands it
 * what the check before returned.
 */
export async function watchOrganization(given: WatchInput): Promise<Look> {
  const input = readInput(readWatchInput, given);
  followFailover(input);
  const { org } = input;
  const { lastResult, startTime } = workflowInfo();
  const last: LastLook = readLastLook(lastResult) ?? { since: startTime.getTime(), absent: [], at: null };
  const summary = `look around in ${org}`;
  const look = await watch.lookAround.executeWithOptions({ ...watchOptions, summary }, [{ org, last }]);
  const more = look.count - look.holding.length;
  const facts: [string, string][] = [
    ['looked at', clockTime(Date.now())],
    ['holds now', look.count === 0 ? 'nothing that people are told of' : `${look.count}`],
    ...look.holding.map((what): [string, string] => ['', what]),
    ...(more > 0 ? [['', `and ${more} more`] as [string, string]] : []),
  ];
  setCurrentDetails(`**Watch of ${org}**\n\n${factsTable(facts)}`);
  return look;
}
defineWorkflowOptions(watchOrganization, readsInput);
