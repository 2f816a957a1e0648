import type { PermitClass } from '../rules/permits.ts';

/** A program that sends its requests through the gateway. */
export interface GatewayClient {
  /** Unique; the name under which the budget shows it. */
  name: string;
  org: string;
  class: PermitClass;
  /** The largest part of a window's limit that it may hold, in per cent; null for no limit of its own. */
  share: number | null;
}
