import type { WebhookEventType } from '../model/webhook-event.ts';

/** A receiver of messages, as configured. What it holds is read when it is used, and never shown. */
export interface Webhook {
  /** Unique within the organization. */
  name: string;
  events: readonly WebhookEventType[];
  /** An address may hold a token: it is as secret as the key. */
  url(): string;
  /** `whsec_…`. */
  secret(): string;
}

/** The names of those that are told of such events. */
export function subscribedTo(webhooks: readonly Webhook[], type: WebhookEventType): string[] {
  return webhooks.filter(({ events }) => events.includes(type)).map(({ name }) => name);
}
