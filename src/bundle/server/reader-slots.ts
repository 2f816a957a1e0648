import ipaddr from 'ipaddr.js';

/** How many readers are served at once. */
export interface ReaderLimits {
  total: number;
  perAddress: number;
}

/** Counts what clients hold, in all and by address, and says when it is enough. */
export class ReaderSlots {
  readonly #limits: ReaderLimits;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(limits: ReaderLimits) {
    this.#limits = limits;
  }

  /** What gives the slot back, once however often it is called; null when there is none. */
  take(address: string | undefined): (() => void) | null {
    const client = clientOf(address);
    const held = this.#held.get(client) ?? 0;
    if (this.#total >= this.#limits.total || held >= this.#limits.perAddress) return null;
    this.#total += 1;
    this.#held.set(client, held + 1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#total -= 1;
      const left = (this.#held.get(client) ?? 1) - 1;
      if (left === 0) this.#held.delete(client);
      else this.#held.set(client, left);
    };
  }
}

/** Who counts as one client: an IPv4 address, however written, or the /64 that a client with IPv6 has for itself. */
export function clientOf(address = ''): string {
  if (!ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed
    .toByteArray()
    .slice(0, 8)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')}/64`;
}
