import type { Forecast } from './permits.ts';
import { blockedBy } from './refusals.ts';
import { capacityOf, expectedReleases } from './window.ts';
import {
  active,
  floor,
  type LeaseState,
  max,
  min,
  occupancyMs,
  rankOf,
  rulesOf,
  type Waiter,
  type WindowState,
} from './window-state.ts';

/* Estimates when a pass will be done, from the slots of the window and the competing demand. */

export interface Slots {
  now: number;
  /** Nothing is granted earlier, e.g. during a pause. */
  notBefore: number;
  windowMs: number;
  capacity: number;
  releases: readonly number[];
}

/** The last moment that is a valid date. */
const latestMoment = 8.64e15;

/** What a holder or waiter wants. */
export interface Demand {
  holder: string;
  rank: number;
  /** Pages left to read; null when unknown. */
  remaining: number | null;
  /** Of these, pages that have their permits already. */
  granted: number;
}

/** When the `count`th permit (1 and up) from now can be used; every slot comes round once per window. */
export function momentOfPermit(count: number, { notBefore, windowMs, capacity, releases }: Slots): number {
  const rounds = floor((count - 1) / capacity);
  const place = (count - 1) % capacity;
  const free = capacity - releases.length;
  const moment = place < free ? notBefore : max(notBefore, releases[place - free] ?? notBefore);
  return min(latestMoment, moment + rounds * windowMs);
}

/** More urgent passes go first, those of a rank take turns. Null when the remaining pages are unknown. */
export function forecastOf(demand: Demand, others: readonly Demand[], slots: Slots): Forecast | null {
  const pages = demand.remaining;
  if (pages === null) return null;
  let before = 0;
  for (const other of others) {
    if (other.rank > demand.rank || other.holder === demand.holder) continue;
    const theirs = missingPermits(other) ?? 1;
    before += other.rank < demand.rank ? theirs : min(theirs, pages);
  }
  const missing = missingPermits(demand) ?? 0;
  const doneAt = missing === 0 ? slots.now : momentOfPermit(before + missing, slots);
  return { doneAt, pages, windows: Math.ceil((doneAt - slots.now) / slots.windowMs) };
}

/** Permits a demand still needs; null when that is unknown. */
const missingPermits = ({ remaining, granted }: Demand): number | null =>
  remaining === null ? null : max(0, remaining - granted);

/** Forecasts of holders and waiters, from the present demand of all: one look at the window serves them all. */
export function forecaster(state: WindowState): (holder: Waiter | LeaseState) => Forecast | null {
  const slots = {
    now: state.now,
    notBefore: blockedBy(state, null)?.until ?? state.now,
    windowMs: occupancyMs(state),
    capacity: capacityOf(state),
    releases: expectedReleases(state),
  };
  const rules = rulesOf(state);
  const demandOf = (wanting: Waiter | LeaseState): Demand => ({
    holder: wanting.holder,
    rank: rankOf(wanting, rules),
    remaining: wanting.remaining,
    granted: 'notBefore' in wanting ? wanting.notBefore.length : 0,
  });
  const demands = [...state.waiters.map(demandOf), ...active(state).map(demandOf)];
  return (holder) => forecastOf(demandOf(holder), demands, slots);
}

/** The forecast of one holder or waiter. */
export const forecastFor = (state: WindowState, holder: Waiter | LeaseState): Forecast | null =>
  holder.remaining === null ? null : forecaster(state)(holder);
