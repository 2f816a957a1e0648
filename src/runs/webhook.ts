import { createHmac } from 'node:crypto';
import type { WebhookEventType, WebhookFormat } from './rules/webhook-event.ts';

/** A configured receiver of messages. Address and secret are read when used, and never shown. */
export interface Webhook {
  /** Unique within the organization. */
  name: string;
  format: WebhookFormat;
  events: readonly WebhookEventType[];
  /** An address may hold a token: it is as secret as the key. */
  url(): string;
  /** `whsec_…`; null for formats that are not signed. */
  secret(): string | null;
}

/** The names of the webhooks that receive such events. */
export function subscribedTo(webhooks: readonly Webhook[], type: WebhookEventType): string[] {
  return webhooks.filter(({ events }) => events.includes(type)).map(({ name }) => name);
}

/**
 * Tells one setting of a webhook from another, and tells nothing about address and secret. Throws what reading them
 * throws.
 */
export function settingsMark({ format, url, secret }: Pick<Webhook, 'format' | 'url' | 'secret'>): string {
  const address = url();
  return createHmac('sha256', secret() ?? address)
    .update(`${format} ${address}`)
    .digest('hex')
    .slice(0, 16);
}
