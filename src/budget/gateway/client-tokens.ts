import { createHash, timingSafeEqual } from 'node:crypto';
import type { GatewayClient } from './gateway-client.ts';

/** Finds clients by their tokens, of which it keeps only digests. */
export class ClientTokens {
  readonly #known: readonly { digest: Buffer; client: GatewayClient }[];

  constructor(clients: Iterable<{ token: string; client: GatewayClient }>) {
    this.#known = [...clients].map(({ token, client }) => ({ digest: digestOf(token), client }));
  }

  /** The client of an `Authorization` header; null for none. Takes as long whatever the token. */
  clientOf(authorization: string | undefined): GatewayClient | null {
    const [, token = ''] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
    const digest = digestOf(token);
    let found: GatewayClient | null = null;
    for (const known of this.#known) if (timingSafeEqual(known.digest, digest)) found = known.client;
    return found;
  }
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
