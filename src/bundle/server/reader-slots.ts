import ipaddr from 'ipaddr.js';

/** Most readers served at once. */
export interface ReaderLimits {
  total: number;
  perAddress: number;
}

/** Counts the slots that clients have taken, altogether and by address, and refuses more than the limits. */
export class ReaderSlots {
  readonly #limits: ReaderLimits;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: ReaderLimits) {
    this.#limits = limits;
  }

  /** Takes a slot and returns what frees it, once however often it is called; null when none is free. */
  take(address: string | undefined): (() => void) | null {
    const client = clientOf(address);
    const taken = this.#taken.get(client) ?? 0;
    if (this.#total >= this.#limits.total || taken >= this.#limits.perAddress) return null;
    this.#total += 1;
    this.#taken.set(client, taken + 1);
    let isFreed = false;
    return () => {
      if (isFreed) return;
      isFreed = true;
      this.#total -= 1;
      const left = (this.#taken.get(client) ?? 1) - 1;
      if (left === 0) this.#taken.delete(client);
      else this.#taken.set(client, left);
    };
  }
}

/** What counts as one client: an IPv4 address, however written, or the /64 that an IPv6 client usually gets. */
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
