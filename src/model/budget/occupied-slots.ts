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
  const later = state.leases.flatMap(({ notBefore }) => notBefore).filter((moment) => moment > state.now);
  return latestReleases(state).length - later.length;
}

/** As `latestReleases`, but expects leases in use to be reported soon: good for telling waiters when to come back. */
export function expectedReleases(state: WindowState): number[] {
  return releases(state, ({ useBy }) => useBy <= state.now);
}

function releases(state: WindowState, unreported: (lease: { useBy: number }) => boolean): number[] {
  const leased = state.leases.flatMap((lease) =>
    lease.notBefore.map((moment) => (unreported(lease) ? lease.arrivesBy : moment)),
  );
  return [...state.spent, ...leased].map((moment) => moment + occupancyMs(state)).sort(ascending);
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
