import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { ReadBuffers } from '../../files.ts';
import { buildConnector } from '../../http-client.ts';
import { readHttpDate } from '../../rules/retry-after.ts';

/** The object store refused several fresh links; bytes on disk are kept for another call. */
export class LinkExpired extends Error {
  override readonly name = 'LinkExpired';
}

/** The download failed; bytes on disk are kept for another call if the object can be proved unchanged. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
  readonly retryable: boolean;
  /** How long the store asked to wait, in milliseconds; null when it did not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryable: boolean, retryAfterMs: number | null = null) {
    super(message);
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The archive is larger than allowed. */
export class ArchiveTooLarge extends Error {
  override readonly name = 'ArchiveTooLarge';
}

/** The disk is full, or would be before the download is complete; the message says how much room is needed where. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

const secondMs = 1_000;

/**
 * When a presigned link expires by its own query, in milliseconds by the store's clock: `X-Amz-Date` with `X-Amz-Expires`,
 * `X-Goog-Date` with `X-Goog-Expires`, `Expires` (a Unix time), `se` (Azure). Null when it does not say.
 */
export function expiryOf(link: string): number | null {
  if (!URL.canParse(link)) return null;
  const query = new Map([...new URL(link).searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  for (const vendor of ['x-amz', 'x-goog']) {
    const from = stampOf(query.get(`${vendor}-date`));
    const seconds = wholeOf(query.get(`${vendor}-expires`));
    if (from !== null && seconds !== null) return from + seconds * secondMs;
  }
  const unix = wholeOf(query.get('expires'));
  if (unix !== null) return unix * secondMs;
  const azure = Date.parse(query.has('sig') ? (query.get('se') ?? '') : '');
  return Number.isNaN(azure) ? null : azure;
}

/** `20261121T040200Z`. */
function stampOf(text: string | undefined): number | null {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text ?? '') ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(ms) ? null : ms;
}

function wholeOf(text: string | undefined): number | null {
  return /^\d{1,12}$/.test(text ?? '') ? Number(text) : null;
}

/** A secret, and what came with it (none of it is certain): no history, log or error contains it (E3, X1). */
export interface PresignedLink {
  href: string;
  /** Length of the object as the service announced it. A hint: the object's own length counts. */
  sizeBytes: number | null;
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
 * used; connections that need a new link share it. A new link is used at least once, even if it claims to have expired.
 */
export class PresignedLinks {
  readonly #source: LinkSource;
  readonly #now: () => number;
  #current: CurrentLink | null = null;
  #asking: Promise<CurrentLink> | null = null;
  #skewMs: number | null = null;
  #skewOfStore = false;
  /** Since the last byte. */
  #refused: string[] = [];
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
    const current = this.#current?.href === href ? this.#current : null;
    // Connections share a link; another one may have replaced it by now.
    if (current === null && this.#refused.includes(href)) return;
    this.#refused.push(href);
    if (current !== null) this.#current = null;
    if (this.#refused.length < maxRefused) return;
    const early = current !== null && current.expiresAtMs !== null && !this.#isEnding(current);
    const why = early ? ', though by its own date it has not expired' : '';
    throw new LinkExpired(`${maxRefused} links in a row were refused (HTTP ${status}${why})`);
  }

  served(): void {
    this.#refused = [];
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

/** Where a presigned link may lead (E3). */
export interface LinkPolicy {
  allowInsecure: boolean;
  /** `host` or `host:port` (IPv6 with or without brackets) that may have a private or loopback address. */
  linkHosts: readonly string[];
  /** The proxy for an address, or null; no proxies by default. */
  proxyFor?: (url: URL) => URL | null;
}

/** The policy does not allow where the link leads; the message names the host at most. */
export class LinkRefused extends Error {
  override readonly name = 'LinkRefused';
}

/** Public addresses by their number that lead inside a cloud (metadata and wire servers). */
const cloudInternal = ['168.63.129.16'];
const defaultPorts: Record<string, string> = { 'http:': '80', 'https:': '443' };

/** Checks what can be seen in a link, or in the target of a redirect; throws `LinkRefused`. */
export function checkLink(link: string, policy: LinkPolicy): URL {
  if (!URL.canParse(link)) throw new LinkRefused('the link is not a URL');
  const url = new URL(link);
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') throw new LinkRefused('the link is neither https nor http');
  if (!secure && !policy.allowInsecure) {
    throw new LinkRefused(`the link to ${url.hostname} is not https (service.allowInsecure: true permits http://)`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new LinkRefused(`the link to ${url.hostname} carries a user name or password`);
  }
  if (policy.proxyFor?.(url) && !isListed(url.hostname, portOf(url), policy)) {
    // The proxy connects: this process could not see which address it reaches.
    throw new LinkRefused(`behind a proxy, ${url.hostname} must be listed in service.linkHosts`);
  }
  if (ipaddr.isValid(bare(url.hostname))) checkAddress(url.hostname, portOf(url), url.hostname, policy);
  return url;
}

/** Checks the address that a connection to `host` reached; throws `LinkRefused`. */
export function checkAddress(host: string, port: string, address: string | undefined, policy: LinkPolicy): void {
  if (isListed(host, port, policy) || (address !== undefined && isPublic(address))) return;
  throw new LinkRefused(`${host} is not a public address; list it in service.linkHosts if that is intended`);
}

/** Room for the TLS records, of at most 16 KiB each, that arrive together. */
const tlsBufferBytes = 256 * 1024;

/** Checks the remote address before any request is written: names may resolve to private addresses. */
export function checkedConnector(
  policy: LinkPolicy,
  connectTimeoutMs: number,
  buffers: ReadBuffers,
): buildConnector.connector {
  return (options, callback) => {
    let socket: Socket | null = null;
    const onread = buffers.socketOptions((chunk) => socket?.push(chunk) ?? true);
    const reading = options.protocol === 'http:' ? { onread } : { highWaterMark: tlsBufferBytes };
    const connect = buildConnector({ timeout: connectTimeoutMs, ...reading });
    connect(options, (...[error, connected]) => {
      if (error) return callback(error, null);
      try {
        const port = options.port || defaultPorts[options.protocol] || '';
        checkAddress(options.hostname, port, connected.remoteAddress, policy);
      } catch (refused) {
        connected.destroy();
        return callback(refused instanceof Error ? refused : new LinkRefused('refused'), null);
      }
      socket = connected;
      callback(null, connected);
    });
  };
}

function isListed(host: string, port: string, policy: LinkPolicy): boolean {
  const name = bare(host.toLowerCase());
  return policy.linkHosts.some((entry) => {
    const listed = entry.trim().toLowerCase();
    return bare(listed) === name || listed === `${name}:${port}` || listed === `[${name}]:${port}`;
  });
}

function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address) && !ipaddr.isValid(bare(address))) return false;
  const parsed = ipaddr.process(bare(address));
  if (cloudInternal.includes(parsed.toString())) return false;
  // Only 2000::/3 of IPv6 is public; the library calls every range it does not know `unicast`.
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(ipaddr.IPv6.parse('2000::'), 3)) return false;
  return parsed.range() === 'unicast';
}

function portOf(url: URL): string {
  return url.port || defaultPorts[url.protocol] || '';
}

function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
