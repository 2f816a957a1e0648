/** When a pass will be done, from the slots of the window and who else wants them; an estimate for people. */

import { type Claim, type QueueRules, rankOf } from './permit-queue.ts';
import type { Forecast } from './permits.ts';

export interface Slots {
  now: number;
  /** Nothing is granted before, e.g. during a pause. */
  notBefore: number;
  windowMs: number;
  /** Requests that may be in any window. */
  capacity: number;
  /** When each held slot comes free, ascending. */
  releases: readonly number[];
}

/** Pages somebody wants to read still; `granted` of them have their permits already. */
export type Demand = Claim & { remaining: number | null; granted: number };

/**
 * The moment at which the `count`th permit from now on can be used, one window after another: every slot comes round
 * once a window. `count` is at least 1.
 */
export function momentOfPermit(count: number, { notBefore, windowMs, capacity, releases }: Slots): number {
  const rounds = Math.floor((count - 1) / capacity);
  const place = (count - 1) % capacity;
  const free = capacity - releases.length;
  const moment = place < free ? notBefore : Math.max(notBefore, releases[place - free] ?? notBefore);
  return moment + rounds * windowMs;
}

/**
 * Forecast of a pass that has `remaining` pages to read: those of more urgent passes go first, those of its own rank
 * take turns with it. Null when it cannot tell how many pages remain.
 */
export function forecastOf(
  demand: Demand,
  others: readonly Demand[],
  slots: Slots,
  rules: QueueRules,
): Forecast | null {
  const pages = demand.remaining;
  if (pages === null) return null;
  const own = rankOf(demand, rules);
  const before = others
    .filter((other) => other.holder !== demand.holder && rankOf(other, rules) <= own)
    .reduce((sum, other) => {
      const theirs = wanted(other) ?? 1;
      return sum + (rankOf(other, rules) < own ? theirs : Math.min(theirs, pages));
    }, 0);
  const still = wanted(demand) ?? 0;
  const doneAt = still === 0 ? slots.now : momentOfPermit(before + still, slots);
  return { doneAt, pages, windows: Math.ceil((doneAt - slots.now) / slots.windowMs) };
}

/** Permits a demand still needs; null when it cannot tell. */
const wanted = ({ remaining, granted }: Demand): number | null =>
  remaining === null ? null : Math.max(0, remaining - granted);
