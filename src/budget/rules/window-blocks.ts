/** What blocks all requests of an organization: a pause, a 429, a refused key, a window with an unknown past. */

import { keyTryDelay, type RefusedKey } from './key-tries.ts';
import type { BlockReason, PermitAsk } from './permits.ts';
import { minWaitMs } from './waiter-order.ts';
import { occupancyMs } from './occupied-slots.ts';
import { probeDue, type WindowState } from './window-state.ts';

const longestOverWindowMs = 60_000;
/** A request on demand tries the key at once, but not more often than this. */
const keyTryByPersonMs = 5_000;

/**
 * The moment before which no request may be sent, and why; null when only the window decides. No program tries a refused
 * key: its path may be answered 401 for another reason.
 */
export function blockedBy(
  state: WindowState,
  question: Pick<PermitAsk, 'class' | 'program'> | null,
): { until: number; reason: BlockReason } | null {
  const { paused, throttledUntil, refusedKey, forgotten, now } = state;
  if (paused) return { until: paused.until ?? now + state.settings.windowMs, reason: 'paused' };
  if (throttledUntil !== null) return { until: throttledUntil, reason: 'throttled' };
  const probing = state.leases.find((lease) => lease.id === state.probe);
  if (probing) return { until: probing.useBy, reason: 'probing' };
  if (refusedKey && question?.program !== undefined) {
    return { until: Math.max(refusedKey.nextTryAt, now + keyTryByPersonMs), reason: 'unauthorized' };
  }
  if (refusedKey && refusedKey.nextTryAt > now && !(question && triedByPerson(question, refusedKey, now))) {
    return { until: refusedKey.nextTryAt, reason: 'unauthorized' };
  }
  const unknown = forgotten === null ? 0 : forgotten + occupancyMs(state);
  return unknown > now ? { until: unknown, reason: 'window-full' } : null;
}

const triedByPerson = (question: Pick<PermitAsk, 'class'>, key: RefusedKey, now: number): boolean =>
  question.class === 'on-demand' && now - key.triedAt >= keyTryByPersonMs;

/**
 * A 429 means the window is full: wait as long as the service asked, up to a little more than a window, or for our
 * oldest slot, whichever is later, then probe. With neither, wait a twentieth of the window.
 */
export function throttle(state: WindowState, oldest: number | undefined, retryAfterMs: number | null): void {
  const { windowMs } = state.settings;
  const unsaid = oldest === undefined ? windowMs / 20 : 0;
  const told = Math.min(windowMs + longestOverWindowMs, Math.max(minWaitMs, retryAfterMs ?? unsaid));
  state.throttledUntil = Math.max(state.throttledUntil ?? 0, state.now + told, oldest ?? 0);
  state.probe = probeDue;
  state.throttles = [...state.throttles, state.now];
}

/** All askers wait; one request tries the key again, after a minute at first, then at growing intervals. */
export function refuseKey(state: WindowState, byProbe: boolean): void {
  const known = state.refusedKey;
  const tries = known === null ? 1 : known.tries + (byProbe ? 1 : 0);
  const nextTryAt = state.now + keyTryDelay(tries);
  state.refusedKey = { since: known?.since ?? state.now, triedAt: state.now, nextTryAt, tries };
  state.probe = probeDue;
}
