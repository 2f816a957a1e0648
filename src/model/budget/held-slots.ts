/**
 * Arithmetic of slots. A slot is held from the grant of a permit until one window after the request's arrival at the
 * latest: reported finished at `f` until `f + window`; not reported until `arrivesBy + window`.
 */

import { strangersOf } from './other-clients.ts';
import type { WindowState } from './window-state.ts';

/** Clocks round and drift: a slot is held this much longer, a ten-thousandth of the window but at least 20 ms. */
export const slackOf = (windowMs: number): number => Math.max(20, Math.ceil(windowMs / 10_000));

/** How long a slot is held after the arrival. */
export const holdMs = (state: WindowState): number => state.settings.windowMs + slackOf(state.settings.windowMs);

/** Requests an organization may make in one window now: as set by a person, or as configured. */
export const limitOf = (state: WindowState): number => state.override?.requests ?? state.settings.requests;

/** Requests left to others now: the reserve, or what they are seen to use if that is more. */
export function reserveOf(state: WindowState): number {
  const reserve = state.override?.reserve ?? state.settings.reserve;
  return Math.max(reserve, strangersOf(state.strangers, limitOf(state)) ?? 0);
}

/** Requests of ours that may be in any window: the limit less what is left to others, at least one. */
export const capacityOf = (state: WindowState): number => Math.max(1, limitOf(state) - reserveOf(state));

/** Until when each held slot is held at most, ascending: what B1 rests on. */
export function heldUntil(state: WindowState): number[] {
  return releases(state, () => true);
}

/** Slots held at this moment: permits granted for later take the place of slots that are free by then. */
export function heldNow(state: WindowState): number {
  const later = state.leases.flatMap(({ notBefore }) => notBefore).filter((moment) => moment > state.now);
  return heldUntil(state).length - later.length;
}

/** As `heldUntil`, but leases in use are expected to be reported soon: good for telling when to come back. */
export function probablyHeldUntil(state: WindowState): number[] {
  return releases(state, ({ useBy }) => useBy <= state.now);
}

function releases(state: WindowState, unreported: (lease: { useBy: number }) => boolean): number[] {
  const leased = state.leases.flatMap((lease) =>
    lease.notBefore.map((moment) => (unreported(lease) ? lease.arrivesBy : moment)),
  );
  return [...state.spent, ...leased].map((moment) => moment + holdMs(state)).sort(ascending);
}

/**
 * The moments at which the next `count` permits can be used when `skip` slots are kept for others, ascending; fewer
 * when that many are not held.
 */
export function freeMoments(state: WindowState, held: readonly number[], skip: number, count: number): number[] {
  const first = held.length - capacityOf(state) + skip;
  return Array.from({ length: count }, (_, i) => first + i)
    .filter((index) => index < held.length)
    .map((index) => held[index] ?? state.now);
}

export const ascending = (a: number, b: number): number => a - b;
