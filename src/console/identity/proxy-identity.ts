import ipaddr from 'ipaddr.js';
import { type Identity, identityOf, type Roles } from '../security/sessions.ts';

/** A reverse proxy that signs people in and says who they are (configuration `console.proxy`). */
export interface ProxySetting {
  /** Its addresses and ranges. */
  from: readonly string[];
  /** Names of headers in lower case. */
  user: string;
  groups: string;
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Reads who the proxy says is there. */
export class ProxyIdentity {
  readonly #ranges: readonly Range[];
  readonly #setting: ProxySetting;
  readonly #roles: Roles;

  constructor(setting: ProxySetting, roles: Roles) {
    this.#ranges = setting.from.map(rangeOf);
    this.#setting = setting;
    this.#roles = roles;
  }

  /** Whether a connection comes from the proxy: no other client's headers are believed. */
  isFrom(address: string | undefined): boolean {
    if (address === undefined || !ipaddr.isValid(address)) return false;
    const from = ipaddr.process(address);
    return this.#ranges.some(([range, bits]) => from.kind() === range.kind() && from.match(range, bits));
  }

  /** Whom the proxy's headers name: null for none, `refused` for a person whom no role lets in. */
  identityIn(header: (name: string) => string | undefined): Identity | 'refused' | null {
    const login = textOf(header(this.#setting.user));
    if (login === '') return null;
    const groups =
      textOf(header(this.#setting.groups))
        ?.split(',')
        .map((group) => group.trim()) ?? [];
    return (login !== null && identityOf(login, groups.filter(Boolean), this.#roles)) || 'refused';
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Node reads each byte of a header as a character; null for bytes that are not UTF-8. */
function textOf(header = ''): string | null {
  try {
    return utf8.decode(Buffer.from(header, 'latin1')).trim();
  } catch {
    return null;
  }
}

function rangeOf(text: string): Range {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
