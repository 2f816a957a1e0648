import { log } from '@temporalio/activity';
import type { WebhookEventType } from '../runs/rules/webhook-event.ts';
import { settingsMark, subscribedTo, type Webhook } from '../runs/webhook.ts';
import { answerWithin, databaseAnswersWithinMs } from './answer-within.ts';
import type { ActivityDependencies } from './dependencies.ts';

/**
 * Names of the organization's webhooks that receive such events: none if the organization is no longer configured, and
 * none whose receiver is gone. Never throws: while the database is down, all receivers count as present.
 */
export async function subscribers(deps: ActivityDependencies, org: string, type: WebhookEventType): Promise<string[]> {
  const { webhooks = [] } = deps.organizations.find((candidate) => candidate.id === org) ?? {};
  const names = subscribedTo(webhooks, type);
  if (names.length === 0) return [];
  try {
    const gone = await answerWithin(databaseAnswersWithinMs, goneWebhooks(deps, org));
    if (gone === null) return names;
    return names.filter((name) => !webhooks.some((webhook) => webhook.name === name && isGone(webhook, gone)));
  } catch (error) {
    log.warn('which webhooks are gone is not known', { org, failure: error instanceof Error ? error.name : 'unknown' });
    return names;
  }
}

/** The settings with which receivers answered that they are gone (410), by the webhook's name. */
export async function goneWebhooks(
  { notices }: ActivityDependencies,
  org: string,
): Promise<ReadonlyMap<string, string | null>> {
  const open = await notices.openNotices(org);
  return new Map(open.filter(({ type }) => type === 'webhook.gone').map(({ subject, mark }) => [subject, mark]));
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
