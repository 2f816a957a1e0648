import type { WebhookEventType } from '../model/webhook-event.ts';

/** A configured receiver of messages. Address and secret are read when used, and never shown. */
export interface Webhook {
  /** Unique within the organization. */
  name: string;
  events: readonly WebhookEventType[];
  /** An address may hold a token: it is as secret as the key. */
  url(): string;
  /** `whsec_…`. */
  secret(): string;
}

/** The names of the webhooks that receive such events. */
export function subscribedTo(webhooks: readonly Webhook[], type: WebhookEventType): string[] {
  return webhooks.filter(({ events }) => events.includes(type)).map(({ name }) => name);
}
