import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const signatureForm = 'X-Amz-Signature';
/** Each link contains a secret that begins like this, so that tests can search for any link. */
export const linkMarker = 'planted-link-token-';

interface Link {
  url: URL;
  /** Milliseconds since the epoch, by the service's clock. */
  expiresAt: number;
}

/** Presigned links: HMAC over method, path and query, and an exact time of expiry. */
export class Links {
  readonly #key = randomBytes(32);
  readonly #expiryBySignature = new Map<string, number>();
  readonly #secrets: string[] = [];

  get count(): number {
    return this.#expiryBySignature.size;
  }

  /** All signatures and tokens ever issued: they may appear nowhere else. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** A new link for GET of `path`. `nowMs` is the service's time. */
  sign(origin: string, path: string, nowMs: number, lifetimeMs: number): Link {
    const url = new URL(path, origin);
    const stamp = `${new Date(nowMs).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
    const token = `${linkMarker}${randomBytes(12).toString('hex')}`;
    url.searchParams.set('X-Amz-Algorithm', 'AWS4-HMAC-SHA256');
    url.searchParams.set('X-Amz-Credential', `SANDBOX/${stamp.slice(0, 8)}/sandbox-1/s3/aws4_request`);
    url.searchParams.set('X-Amz-Date', stamp);
    url.searchParams.set('X-Amz-Expires', String(Math.max(1, Math.ceil(lifetimeMs / 1_000))));
    url.searchParams.set('X-Amz-Security-Token', token);
    url.searchParams.set('X-Amz-SignedHeaders', 'host');
    const signature = this.#signatureOf('GET', url);
    url.searchParams.set(signatureForm, signature);
    this.#expiryBySignature.set(signature, nowMs + lifetimeMs);
    this.#secrets.push(signature, token);
    return { url, expiresAt: nowMs + lifetimeMs };
  }

  /** Whether a request may read what it names. */
  check(method: string, url: URL, nowMs: number): 'valid' | 'unsigned' | 'wrong-signature' | 'expired' {
    const given = url.searchParams.get(signatureForm);
    if (given === null) return 'unsigned';
    const expected = Buffer.from(this.#signatureOf(method, url));
    const bytes = Buffer.from(given);
    if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return 'wrong-signature';
    return nowMs < (this.#expiryBySignature.get(given) ?? 0) ? 'valid' : 'expired';
  }

  #signatureOf(method: string, url: URL): string {
    const query = new URLSearchParams(url.searchParams);
    query.delete(signatureForm);
    query.sort();
    return createHmac('sha256', this.#key).update(`${method}\n${url.pathname}\n${query}`).digest('hex');
  }
}
