import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import type { ReadBuffers } from '../../read-buffers.ts';

/** Where a presigned link may lead (E3). */
export interface LinkPolicy {
  /** Allows plain `http`. */
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
    throw new LinkRefused(`the link to ${url.hostname} is not https (allowInsecure is false)`);
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

/**
 * A connector for undici that checks the remote address before any request is written. It stops names that resolve to
 * private addresses and every way to write an address as a number.
 */
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

/** Without the brackets of an IPv6 host. */
function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
