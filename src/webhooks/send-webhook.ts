import { Webhook as Signature } from 'standardwebhooks';
import { EnvHttpProxyAgent, request } from 'undici';
import type { Webhook } from './webhook.ts';

const connectTimeoutMs = 10_000;
const answerTimeoutMs = 20_000;
/** What is read of an answer's body, to free its connection; nothing of it is looked at. */
const drainedBytes = 64 * 1024;
/** Never through a proxy, whatever NO_PROXY says. */
const thisMachine = ['localhost', '127.0.0.1', '[::1]'];

/** What a receiver said: its status, and how long to stay away if it said that. */
export interface WebhookAnswer {
  status: number;
  retryAfter: string | null;
}

/** No answer came. The message says why in a word, never where to. */
export class WebhookUnreachable extends Error {
  override readonly name = 'WebhookUnreachable';
}

/**
 * Sends a message once, signed by Standard Webhooks (headers `webhook-id`, `webhook-timestamp`, `webhook-signature`). The
 * timestamp is that of the attempt, since receivers refuse old ones; the id stays. Redirects are not followed. Throws
 * `WebhookUnreachable`, and what reading the address and the secret throws.
 */
export async function sendWebhook(
  webhook: Pick<Webhook, 'url' | 'secret'>,
  { messageId, body }: { messageId: string; body: string },
  signal?: AbortSignal,
): Promise<WebhookAnswer> {
  const [url, secret] = [webhook.url(), webhook.secret()];
  const now = new Date();
  const signature = new Signature(secret).sign(messageId, now, body);
  const noProxy = [process.env.no_proxy ?? process.env.NO_PROXY ?? '', ...thisMachine].join(',');
  const dispatcher = new EnvHttpProxyAgent({ connect: { timeout: connectTimeoutMs }, noProxy });
  const timeout = AbortSignal.timeout(answerTimeoutMs);
  try {
    const answer = await request(url, {
      method: 'POST',
      dispatcher,
      body,
      headers: {
        'content-type': 'application/json',
        'webhook-id': messageId,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
        'webhook-signature': signature,
      },
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

/** E.g. `ECONNREFUSED`. Messages of errors name addresses: they stay here. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z_]{3,60}$/.test(code) ? code : 'the connection failed';
}
