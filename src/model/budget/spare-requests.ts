/**
 * Which requests are spare (S4 "would expire unused", docs/decisions/0007). A window slides: a slot that is used
 * now is missing for one window. So a request is spare only when what others are expected to want within that time, and
 * a share for what nobody expects, stay free beside all that is held.
 */

import { capacityOf, freeMoments, holdMs, probablyHeldUntil } from './held-slots.ts';
import { comeBackGraceMs, othersServedAt, type Waiter } from './permit-queue.ts';
import { leaseMs } from './permits.ts';
import { active, type WindowState } from './window-state.ts';

/** Part of the capacity that is kept for what nobody expects: a person who asks for something. */
const keptShare = 0.25;

/** Slots that stay free beside a spare request: those that schedules are expected to need, and a share. */
export function keptFree(state: WindowState, leave: number): number {
  return Math.max(0, Math.ceil(leave)) + Math.ceil(capacityOf(state) * keptShare);
}

/** Time from one spare request to the next in milliseconds: what may be spare is spread over the window. */
export function spareEveryMs(state: WindowState, leave: number): number {
  const most = capacityOf(state) - keptFree(state, leave);
  return most < 1 ? Number.POSITIVE_INFINITY : Math.ceil(holdMs(state) / most);
}

/** Whoever reads page by page holds no lease between two of them: so long after one was granted, the next may come. */
const pauseMs = ({ settings }: WindowState): number => Math.min(leaseMs + comeBackGraceMs, settings.windowMs / 2);

/**
 * The moment from which a request of `claim` is spare, should nobody ask meanwhile: now, or a later one, at most a
 * window away. `before` are the waiters that go first.
 *
 * It is spare when nobody else waits, uses a lease or may be about to ask for the next one, no request was refused with
 * 429 within a window, and `keptFree` slots stay free; and not sooner than `spareEveryMs` after the one before.
 */
export function spareFrom(
  state: WindowState,
  claim: Pick<Waiter, 'holder' | 'leave'>,
  before: readonly Waiter[],
): number {
  const { now } = state;
  const latest = now + state.settings.windowMs;
  const leave = claim.leave ?? 0;
  const everyMs = spareEveryMs(state, leave);
  if (everyMs === Number.POSITIVE_INFINITY) return latest;
  const free = freeMoments(state, probablyHeldUntil(state), keptFree(state, leave), 1)[0] ?? latest;
  const turns = before.filter((waiter) => waiter.class === 'verify').length;
  const others = state.waiters.filter((waiter) => waiter.class !== 'verify');
  const moment = Math.max(
    now,
    // The estimate takes leases in use for used by now: until their end it may be wrong, but then they are in the way.
    free,
    (state.lastSpare ?? Number.NEGATIVE_INFINITY) + everyMs,
    ...others.map(({ expectedAt }) => expectedAt + comeBackGraceMs),
    ...active(state).map(({ useBy }) => useBy),
    othersServedAt(state.served) + pauseMs(state),
    ...state.throttles.map((at) => at + state.settings.windowMs),
  );
  return Math.min(latest, moment + turns * everyMs);
}
