import { readHttpDate } from '../../budget/rules/retry-after.ts';
import { LinkExpired } from './download-errors.ts';
import { expiryOf } from './link-expiry.ts';

/**
 * A presigned link, which is a secret, and what came with it (service-interface.md, appendix: none of it is certain). It
 * never leaves this folder and the activity that asks for it: no history, log or error contains it (E3, X1).
 */
export interface PresignedLink {
  href: string;
  /** Length of the object as the service announced it. A hint: the object's own length counts. */
  sizeBytes: number | null;
  /** Milliseconds since the epoch, by the service's clock. */
  expiresAtMs: number | null;
  /** The service's clock when it gave the link, in milliseconds; null when its answer did not say. */
  serviceNowMs: number | null;
}

/** Asks the service for a link; every call is a request. */
export type LinkSource = () => Promise<PresignedLink>;

/** A request must arrive while its link is valid, and a `Date` header is exact to a second. */
const marginMs = 1_500;
/** Links in a row that may be refused without a byte in between. */
const maxRefused = 3;

interface CurrentLink {
  href: string;
  expiresAtMs: number | null;
  used: boolean;
}

/**
 * The links of one download. A link that has expired, or is about to by the store's clock, is replaced before it is
 * used; connections that need a new link share it. A new link is used at least once, whatever its expiry says.
 */
export class PresignedLinks {
  readonly #source: LinkSource;
  readonly #now: () => number;
  #current: CurrentLink | null = null;
  #asking: Promise<CurrentLink> | null = null;
  #skewMs: number | null = null;
  #skewOfStore = false;
  #refused = 0;
  /** Of the newest link. */
  sizeBytes: number | null = null;

  constructor(source: LinkSource, now: () => number = Date.now) {
    this.#source = source;
    this.#now = now;
  }

  /** A link to use now. Throws what the source throws. */
  async take(): Promise<string> {
    const link = this.#current && !this.#isEnding(this.#current) ? this.#current : await this.#renew();
    link.used = true;
    return link.href;
  }

  /** Learns the store's clock from the `Date` of its answer. */
  observe(date: string | null): void {
    const storeMs = readHttpDate(date ?? undefined);
    if (storeMs === null) return;
    this.#skewMs = storeMs - this.#now();
    this.#skewOfStore = true;
  }

  /** The store has refused the link. Throws `LinkExpired` when new ones do not help. */
  refuse(href: string, status: number): void {
    // Another connection has replaced it by now.
    if (this.#current?.href !== href) return;
    this.#refused += 1;
    const early = this.#current.expiresAtMs !== null && !this.#isEnding(this.#current);
    this.#current = null;
    if (this.#refused < maxRefused) return;
    const why = early ? ', though by its own date it has not expired' : '';
    throw new LinkExpired(`${maxRefused} links in a row were refused (HTTP ${status}${why})`);
  }

  /** Notes that a link has brought bytes. */
  served(): void {
    this.#refused = 0;
  }

  #isEnding({ used, expiresAtMs }: CurrentLink): boolean {
    return used && expiresAtMs !== null && expiresAtMs - (this.#now() + (this.#skewMs ?? 0)) < marginMs;
  }

  #renew(): Promise<CurrentLink> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(): Promise<CurrentLink> {
    const { href, sizeBytes, expiresAtMs, serviceNowMs } = await this.#source();
    if (serviceNowMs !== null && !this.#skewOfStore) this.#skewMs = serviceNowMs - this.#now();
    this.sizeBytes = sizeBytes;
    this.#current = { href, expiresAtMs: earliest(expiresAtMs, expiryOf(href)), used: false };
    return this.#current;
  }
}

function earliest(...times: (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
