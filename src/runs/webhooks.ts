import { createHmac } from 'node:crypto';
import { Webhook as Signature } from 'standardwebhooks';
import { Agent, ProxyAgent, request } from 'undici';
import { ProxyFailed, proxyFor } from '../rules/proxy.ts';
import type { EntryFilter, WebhookEventType, WebhookFormat } from './rules/webhook-event.ts';

/** A configured receiver of messages. Address and secret are read when used, and never shown. */
export interface Webhook {
  /** Unique within the organization. */
  name: string;
  format: WebhookFormat;
  events: readonly WebhookEventType[];
  /** Which entries `feedback.entries` sends it. */
  entries?: EntryFilter | undefined;
  /** When it gets its weekly digest, in milliseconds since Monday 0:00 UTC; null for never. */
  digestMs?: number | null;
  /** An address may hold a token: it is as secret as the key. */
  url(): string;
  /** `whsec_…`; null for formats that are not signed. */
  secret(): string | null;
  /** Address of the console, for links; null for none. */
  console?: string | null;
}

/**
 * Distinguishes the settings of webhooks without revealing address or secret. Throws what reading them throws.
 */
export function settingsMark({ format, url, secret }: Pick<Webhook, 'format' | 'url' | 'secret'>): string {
  const address = url();
  return createHmac('sha256', secret() ?? address)
    .update(`${format} ${address}`)
    .digest('hex')
    .slice(0, 16);
}

const connectTimeoutMs = 10_000;
const answerTimeoutMs = 20_000;
/** Bytes of an answer's body that are read, to free its connection, and thrown away. */
const drainedBytes = 64 * 1024;

/** A receiver's answer: its status, and the `Retry-After` header if it sent one. */
export interface WebhookAnswer {
  status: number;
  retryAfter: string | null;
}

/** No answer came. The message says why in a word, never the address. */
export class WebhookUnreachable extends Error {
  override readonly name = 'WebhookUnreachable';
}

/**
 * Sends a message once. With a secret it is signed by Standard Webhooks (headers `webhook-id`, `webhook-timestamp`,
 * `webhook-signature`): the timestamp is that of the attempt, since receivers refuse old ones; the id stays. Redirects are
 * not followed. Throws `WebhookUnreachable`, and what reading the address and the secret throws.
 */
export async function sendWebhook(
  webhook: Pick<Webhook, 'url' | 'secret'>,
  { messageId, body }: { messageId: string; body: string },
  signal?: AbortSignal,
): Promise<WebhookAnswer> {
  const [url, secret] = [webhook.url(), webhook.secret()];
  const signature = secret === null ? {} : signatureHeaders(secret, messageId, body);
  const dispatcher = dispatcherFor(new URL(url));
  const timeout = AbortSignal.timeout(answerTimeoutMs);
  try {
    const answer = await request(url, {
      method: 'POST',
      dispatcher,
      body,
      headers: { 'content-type': 'application/json', ...signature },
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    await answer.body.dump({ limit: drainedBytes }).catch(() => undefined);
    const retryAfter = answer.headers['retry-after'];
    return { status: answer.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : null };
  } catch (error) {
    throw new WebhookUnreachable(timeout.aborted ? `no answer within ${answerTimeoutMs / 1_000} s` : codeOf(error));
  } finally {
    await dispatcher.destroy();
  }
}

function dispatcherFor(url: URL): Agent | ProxyAgent {
  const options = { connect: { timeout: connectTimeoutMs } };
  try {
    const proxy = proxyFor(url, process.env);
    return proxy === null ? new Agent(options) : new ProxyAgent({ uri: proxy.href, ...options });
  } catch (error) {
    if (error instanceof ProxyFailed) throw new WebhookUnreachable(error.message);
    throw error;
  }
}

function signatureHeaders(secret: string, messageId: string, body: string): Record<string, string> {
  const now = new Date();
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Signature(secret).sign(messageId, now, body),
  };
}

/** E.g. `ECONNREFUSED`. Messages of errors name addresses, so they are left out. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z_]{3,60}$/.test(code) ? code : 'the connection failed';
}
