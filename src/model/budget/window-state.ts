/** What the budget workflow carries: plain JSON, moments in milliseconds of its own clock. */

import type { RefusedKey } from './key-tries.ts';
import type { Sighting } from './other-clients.ts';
import type { Waiter } from './permit-queue.ts';
import type { BudgetOverride, PermitClass, WindowSettings } from './permits.ts';

export interface Lease {
  /** The request id of the ask it answers: the same ask gets the same lease. */
  id: string;
  holder: string;
  project: string;
  class: PermitClass;
  /** Pages the holder expected to read, this lease's included. */
  remaining: number | null;
  /** Since when the holder wanted it. */
  since: number;
  grantedAt: number;
  /** No request may be sent at or after this moment. */
  useBy: number;
  /** A request of this lease may arrive before this moment, whatever `arrivalMs` becomes meanwhile. */
  arrivesBy: number;
  /** Earliest moment of use, one a permit, ascending. */
  notBefore: number[];
}

export interface WindowState {
  /** As configured. */
  settings: WindowSettings;
  override: BudgetOverride | null;
  /** Greatest moment seen: time never runs backwards here. */
  now: number;
  /** Moments by which reported requests had arrived, ascending; each holds its slot for one window. */
  spent: number[];
  /** Latest arrival whose slot is free again: what a longer window must still wait for. */
  forgotten: number | null;
  leases: Lease[];
  waiters: Waiter[];
  /** Latest attempt seen of each holder, by the time the server scheduled it. */
  attempts: Record<string, number>;
  /** Latest leases given back that nobody had asked for yet; absent in budgets that began with release 0.1.0. */
  givenBack?: string[];
  /** When each turn (permit-queue.ts) was last granted a lease. */
  served: Record<string, number>;
  /** When the last permit of class `verify` was granted. */
  lastSpare: number | null;
  /** After a 429 nobody asks the service before. */
  throttledUntil: number | null;
  /** With the number of tries that were refused. */
  refusedKey: (RefusedKey & { tries: number }) | null;
  /** Stopped by a person, until then or until resumed. */
  paused: { since: number; until: number | null } | null;
  /** After a refusal by the service one request goes first: `due`, or the id of the lease that probes. */
  probe: string | null;
  /** Moments at which the service answered 429. */
  throttles: number[];
  strangers: Sighting[];
}

export const probeDue = 'due';

/** Leases in use. */
export const active = (state: WindowState): Lease[] => state.leases.filter((lease) => lease.useBy > state.now);

export function emptyWindow(settings: WindowSettings, now: number): WindowState {
  return {
    settings,
    override: null,
    now,
    spent: [],
    forgotten: null,
    leases: [],
    waiters: [],
    attempts: {},
    served: {},
    lastSpare: null,
    throttledUntil: null,
    refusedKey: null,
    paused: null,
    probe: null,
    throttles: [],
    strangers: [],
  };
}
