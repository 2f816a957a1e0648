/**
 * Spare requests: those that would expire unused (S4, docs/decisions/0007). The window slides, so a slot used now is
 * occupied for one window. A request is spare only if enough slots stay free for what is expected within that time,
 * plus a share for what is not.
 */

import { leaseMs } from './permits.ts';
import { comeBackGraceMs, type Waiter } from './waiter-order.ts';
import { capacityOf, expectedReleases, freeMoments, occupancyMs } from './occupied-slots.ts';
import type { WindowState } from './window-state.ts';

/** Share of the capacity kept for the unexpected, such as a person's request. */
const keptShare = 0.25;

/** Slots that must stay free beside a spare request: those that schedules are expected to need, and a share. */
export function keptFree(state: WindowState, leave: number): number {
  return Math.max(0, Math.ceil(leave)) + Math.ceil(capacityOf(state) * keptShare);
}

/** Milliseconds from one spare request to the next: they are spread over the window. */
export function spareEveryMs(state: WindowState, leave: number): number {
  const most = capacityOf(state) - keptFree(state, leave);
  return most < 1 ? Number.POSITIVE_INFINITY : Math.ceil(occupancyMs(state) / most);
}

/** A pass that reads page by page has no lease between two pages: for this long after a grant it may ask again. */
const pauseMs = ({ settings }: WindowState): number => Math.min(leaseMs + comeBackGraceMs, settings.windowMs / 2);

/**
 * The moment from which a request of `claim` is spare if no other asker comes: now or later, at most a window away.
 * `turns` claims on spare requests go first.
 *
 * A request is spare when no other asker waits, uses a lease or may be about to ask for the next one, the service has
 * refused none with 429 within a window, and `keptFree` slots stay free; and at the earliest `spareEveryMs` after the
 * previous one.
 */
export function spareFrom(state: WindowState, claim: Pick<Waiter, 'leave'>, turns: number): number {
  const { now } = state;
  const latest = now + state.settings.windowMs;
  const leave = claim.leave ?? 0;
  const everyMs = spareEveryMs(state, leave);
  if (everyMs === Number.POSITIVE_INFINITY) return latest;
  let moment = Math.max(
    now,
    // Counts leases in use as used now. That may be wrong until they end, but until then they block spare requests.
    freeMoments(state, expectedReleases(state), keptFree(state, leave), 1)[0] ?? latest,
    (state.lastSpare ?? Number.NEGATIVE_INFINITY) + everyMs,
    (state.othersServedAt ?? Number.NEGATIVE_INFINITY) + pauseMs(state),
  );
  for (const waiter of state.waiters) {
    if (waiter.class !== 'verify') moment = Math.max(moment, waiter.expectedAt + comeBackGraceMs);
  }
  for (const { useBy } of state.leases) if (useBy > now) moment = Math.max(moment, useBy);
  for (const at of state.throttles) moment = Math.max(moment, at + state.settings.windowMs);
  return Math.min(latest, moment + turns * everyMs);
}
