/**
 * Arithmetic of slots. A permit occupies a slot from its grant until one window after its request arrived: a request
 * reported finished at `f` until `f + window`, one not reported until `arrivesBy + window`.
 */

import { requestsOfOthers } from './other-clients.ts';
import type { WindowState } from './window-state.ts';

/** Clocks round and drift: a slot stays occupied this much longer, a ten-thousandth of the window but at least 20 ms. */
export const slackOf = (windowMs: number): number => Math.max(20, Math.ceil(windowMs / 10_000));

/** How long a slot stays occupied after the request's arrival. */
export const occupancyMs = (state: WindowState): number => state.settings.windowMs + slackOf(state.settings.windowMs);

/** Requests an organization may make in one window now: as set by hand, or as configured. */
export const limitOf = (state: WindowState): number => state.override?.requests ?? state.settings.requests;

/** Requests left to other clients now: the reserve, or their observed use if that is more. */
export function reserveOf(state: WindowState): number {
  const reserve = state.override?.reserve ?? state.settings.reserve;
  return Math.max(reserve, requestsOfOthers(state.sightings, limitOf(state)) ?? 0);
}

/** Requests of ours allowed in any window: the limit less what is left to other clients, at least one. */
export const capacityOf = (state: WindowState): number => Math.max(1, limitOf(state) - reserveOf(state));

/** The latest moment at which each occupied slot comes free, ascending: what B1 rests on. */
export function latestReleases(state: WindowState): number[] {
  return releases(state, () => true);
}

/** Slots occupied now. Permits granted for a later moment use slots that will be free by then. */
export function occupiedNow(state: WindowState): number {
  let count = state.spent.length;
  for (const { notBefore } of state.leases) {
    for (const moment of notBefore) if (moment <= state.now) count += 1;
  }
  return count;
}

/** Like `latestReleases`, but expects leases in use to be reported soon: good for telling waiters when to come back. */
export function expectedReleases(state: WindowState): number[] {
  return releases(state, ({ useBy }) => useBy <= state.now);
}

function releases(state: WindowState, unreported: (lease: { useBy: number }) => boolean): number[] {
  const leased: number[] = [];
  for (const lease of state.leases) {
    const isUnreported = unreported(lease);
    for (const moment of lease.notBefore) leased.push(isUnreported ? lease.arrivesBy : moment);
  }
  return merged(state.spent, sorted(leased), occupancyMs(state));
}

/** Leases are granted one after the other, so most often they are in order already. */
function sorted(moments: number[]): number[] {
  for (let i = 1; i < moments.length; i += 1) {
    if ((moments[i - 1] ?? 0) > (moments[i] ?? 0)) return moments.sort(ascending);
  }
  return moments;
}

/** Both ascending lists in one, each moment `later` than it was. */
function merged(a: readonly number[], b: readonly number[], later: number): number[] {
  const all: number[] = [];
  let fromB = 0;
  for (const moment of a) {
    for (let next = b[fromB]; next !== undefined && next < moment; next = b[fromB]) {
      all.push(next + later);
      fromB += 1;
    }
    all.push(moment + later);
  }
  for (; fromB < b.length; fromB += 1) all.push((b[fromB] ?? 0) + later);
  return all;
}

/**
 * When the next `count` permits can be used if `skip` slots are kept for others, ascending; fewer when fewer slots are
 * occupied.
 */
export function freeMoments(state: WindowState, occupied: readonly number[], skip: number, count: number): number[] {
  const first = occupied.length - capacityOf(state) + skip;
  return Array.from({ length: count }, (_, i) => first + i)
    .filter((index) => index < occupied.length)
    .map((index) => occupied[index] ?? state.now);
}

export const ascending = (a: number, b: number): number => a - b;
