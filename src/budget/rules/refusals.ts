/**
 * What a refusal of the service means: how long all wait after a 429, when a refused key (401) is tried again, and how
 * much of the window other clients use. A 429 means that the window is full: the part that is not ours is theirs (B4).
 */

import type { BlockReason, PermitAsk } from './permits.ts';
import {
  type KeyChecks,
  minWaitMs,
  occupancyMs,
  probeDue,
  type RefusedKey,
  type Sighting,
  type WindowState,
} from './window-state.ts';

const longestOverWindowMs = 60_000;
/** A request on demand tries the key at once, but not more often than this. */
const keyTryByPersonMs = 5_000;

/** Until when no request may go, and why. No program tries a refused key: its path may be answered 401 anyway. */
export function blockedBy(
  state: WindowState,
  question: Pick<PermitAsk, 'class' | 'program'> | null,
): { until: number; reason: BlockReason } | null {
  const { paused, throttledUntil, refusedKey, now } = state;
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
  const unknown = countsAsFullUntil(state);
  return unknown === null ? null : { until: unknown, reason: 'window-full' };
}

/** Until when the window counts as full because nobody knows what was granted before (B7); null when all is known. */
export function countsAsFullUntil(state: WindowState): number | null {
  const until = state.unknownUntil === null ? 0 : state.unknownUntil + occupancyMs(state);
  return until > state.now ? until : null;
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

const firstMs = 60_000;
const longestMs = 15 * 60_000;

/** Milliseconds until a key refused `refusals` times (at least 1) is tried again: a minute, doubled each time. */
export function keyTryDelay(refusals: number): number {
  return Math.min(longestMs, firstMs * 2 ** (refusals - 1));
}

/** After a check, 401s of programs start no other for this long. */
const believedMs = 15 * 60_000;
/** A check that gets a permit is over within this time. */
const checkTakesMs = 60_000;

/** A program was answered 401, or asks although the key is refused. */
export function wantCheck({ startedAt, due }: KeyChecks, refused: RefusedKey | null, now: number): KeyChecks {
  if (refused !== null && refused.nextTryAt > now) return { startedAt, due };
  const pauseMs = refused === null ? believedMs : checkTakesMs;
  return { startedAt, due: due || startedAt === null || startedAt + pauseMs <= now };
}

/** Windows for which a sighting counts. */
const windowsKept = 3;
/** Requests of other clients that a refusal does not show: those refused or sent at the same time as ours. */
const unseen = 2;
/** Share of the limit that always stays ours: a refusal may mean something other than a full window. */
const ownShare = 0.1;

/** Adds what a refusal at `at` shows; `own` are our arrivals known by then. */
export function addRefusal(
  sightings: readonly Sighting[],
  refusal: { at: number; limit: number; own: readonly number[]; windowMs: number },
): Sighting[] {
  const { at, limit, own, windowMs } = refusal;
  const ours = own.filter((moment) => moment > at - windowMs && moment <= at).length;
  return [...sightings, { at, requests: limit - ours + unseen }];
}

/** Takes arrivals of ours that were reported later off the other clients' account. */
export function correctSightings(
  sightings: readonly Sighting[],
  arrivals: readonly number[],
  windowMs: number,
): Sighting[] {
  return sightings.map(({ at, requests }) => ({
    at,
    requests: requests - arrivals.filter((moment) => moment > at - windowMs && moment <= at).length,
  }));
}

/** Sightings that still count. */
export function recentSightings(sightings: readonly Sighting[], now: number, windowMs: number): Sighting[] {
  return sightings.filter(({ at }) => at + windowsKept * windowMs > now);
}

/** When the next sighting stops counting, so that more may be granted; null when there is none. */
export function nextSightingExpiry(sightings: readonly Sighting[], windowMs: number): number | null {
  return sightings.length === 0 ? null : Math.min(...sightings.map(({ at }) => at)) + windowsKept * windowMs;
}

/** Requests per window that other clients seem to make; null when nothing is known. */
export function requestsOfOthers(sightings: readonly Sighting[], limit: number): number | null {
  if (sightings.length === 0) return null;
  const most = Math.max(0, ...sightings.map(({ requests }) => requests));
  return Math.min(most, limit - Math.max(1, Math.ceil(limit * ownShare)));
}
