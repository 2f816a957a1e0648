import type { WebhookEvent, WebhookFormat } from './rules/webhook-event.ts';
import { eventWords } from './event-words.ts';
import { slackMessage } from './slack-message.ts';
import { teamsMessage } from './teams-message.ts';

/** The body of a message: the same for every attempt. */
export function messageBody(event: WebhookEvent, format: WebhookFormat): string {
  if (format === 'slack') return JSON.stringify(slackMessage(eventWords(event)));
  if (format === 'teams') return JSON.stringify(teamsMessage(eventWords(event)));
  return JSON.stringify(event);
}
