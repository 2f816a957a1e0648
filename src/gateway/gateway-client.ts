import type { PermitClass } from '../model/budget/permits.ts';

/** A program that sends its requests through the gateway. */
export interface GatewayClient {
  /** Unique; the name under which the budget shows it. */
  name: string;
  org: string;
  class: PermitClass;
  /** The most per cent of the limit of a window that it may hold; null for no limit of its own. */
  share: number | null;
}
