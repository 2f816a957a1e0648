/** State of the budget workflow: plain JSON, moments in milliseconds of its own clock. */

import type { KeyChecks, RefusedKey } from './key-tries.ts';
import type { Sighting } from './other-clients.ts';
import type { BudgetOverride, PermitClass, WindowSettings } from './permits.ts';
import type { QueueRules, Waiter } from './waiter-order.ts';

export interface Lease {
  /** Id of the question it answers: the same question gets the same lease. */
  id: string;
  holder: string;
  project: string;
  class: PermitClass;
  /** Pages the holder expected to read, this lease's included. */
  remaining: number | null;
  /** When the holder first asked. */
  since: number;
  grantedAt: number;
  /** No request may be sent at or after this moment. */
  useBy: number;
  /** Requests of this lease arrive before this moment, whatever `arrivalMs` becomes meanwhile. */
  arrivesBy: number;
  /** Earliest moment of use of each permit, ascending. */
  notBefore: number[];
}

/** The latest attempt seen of a holder, by when the server scheduled it. */
export interface Attempt {
  holder: string;
  at: number;
}

/** When a turn (`turnOf`) was last granted a lease. */
export interface Turn {
  turn: string;
  at: number;
}

/** What the budget remembers of a program while it holds slots or waits. */
export interface ProgramUse {
  /** Per cent of the limit that it may hold, by its last question; null for no limit of its own. */
  share: number | null;
  /** Its part of the window's `spent`. */
  spent: number[];
}

export interface WindowState {
  /** As configured. */
  settings: WindowSettings;
  override: BudgetOverride | null;
  /** Latest moment seen: time never runs backwards here. */
  now: number;
  /** Moments by which reported requests had arrived, ascending; each occupies its slot for one window. */
  spent: number[];
  /** Latest arrival of which no slot tells: those of a longer window, or of an earlier ledger, must still pass. */
  forgotten: number | null;
  leases: Lease[];
  /** In the order in which they were served when it was last looked at, then those that came since. */
  waiters: Waiter[];
  /** One of each holder (remembered.ts). */
  attempts: Attempt[];
  /** Ids of questions whose return overtook them, the latest ones. */
  returned: string[];
  /** One of each turn (remembered.ts). */
  served: Turn[];
  /** When a class other than `verify` was last granted a lease; null for never. */
  othersServedAt: number | null;
  /** When the last permit of class `verify` was granted. */
  lastSpare: number | null;
  /** After a 429, no request is sent before this moment. */
  throttledUntil: number | null;
  /** With the number of refused tries. */
  refusedKey: (RefusedKey & { tries: number }) | null;
  keyChecks: KeyChecks;
  /** Paused by hand, until that moment or until resumed. */
  paused: { since: number; until: number | null } | null;
  /** After a refusal by the service one request goes first: `due`, or the id of the probing lease. */
  probe: string | null;
  /** Programs that hold slots or wait, by holder. */
  programs: Record<string, ProgramUse>;
  /** Moments at which the service answered 429. */
  throttles: number[];
  /** What refusals showed of other clients. */
  sightings: Sighting[];
  /** When the installation of `settings` last sent a message; null before that. */
  ownSeenAt: number | null;
  /** Signals that made no sense (X5). */
  ignored: number;
}

/** A lease that is over and was not reported: all that counts of it are its slots. Moments count back from `useBy`. */
export type LapsedLease = [id: string, useBy: number, arrivesWithin: number, ...before: number[]];

/** A waiter, with the latest attempt of its holder. */
export type WaiterRow = [
  holder: string,
  attemptAt: number | null,
  project: string,
  kind: PermitClass,
  wants: number,
  remaining: number | null,
  since: number,
  servedAt: number | null,
  expectedAt: number,
  leave: number | null,
];

/** The window as a run hands it to the next (carried-window.ts). */
export interface CarriedWindow extends Omit<WindowState, 'attempts' | 'served'> {
  /** Of holders that do not wait. An earlier version carried moments by name. */
  attempts: Attempt[] | Record<string, number>;
  /** Of turns without a waiter. */
  served: Turn[] | Record<string, number>;
  lapsed?: LapsedLease[];
  rows?: WaiterRow[];
}

/** Input of the budget's workflow. */
export interface BudgetInput {
  org: string;
  settings: WindowSettings;
  /** When an earlier ledger may last have granted permits (B7); absent when there are no signs of one. */
  earlierGrantAt?: number;
  /** Set by continue-as-new and `budget move`. */
  carried?: CarriedWindow;
}

export const probeDue = 'due';

/**
 * The most waiters that get a place: as many as a run can carry to the next. The budget tells others when to ask again.
 */
export const mostWaiters = 2_000;

/** Leases in use. */
export const active = (state: WindowState): Lease[] => state.leases.filter((lease) => lease.useBy > state.now);

/** What the order of waiters depends on: a waiter rises one class per window. */
export function rulesOf(state: WindowState): QueueRules {
  return { now: state.now, promotionMs: state.settings.windowMs };
}

/** A file's clock that is ahead must not shut out what is written next. */
export function writtenBefore(settings: WindowSettings, now: number): WindowSettings {
  const { configuredAt } = settings;
  return configuredAt === undefined ? settings : { ...settings, configuredAt: Math.min(configuredAt, now) };
}

export function emptyWindow(settings: WindowSettings, now: number): WindowState {
  return {
    settings: writtenBefore(settings, now),
    override: null,
    now,
    spent: [],
    forgotten: null,
    leases: [],
    waiters: [],
    attempts: [],
    returned: [],
    served: [],
    othersServedAt: null,
    lastSpare: null,
    throttledUntil: null,
    refusedKey: null,
    keyChecks: { startedAt: null, due: false },
    paused: null,
    probe: null,
    programs: {},
    throttles: [],
    sightings: [],
    ownSeenAt: null,
    ignored: 0,
  };
}
