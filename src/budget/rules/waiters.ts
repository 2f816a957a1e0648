import { leaseMs } from './permits.ts';
import { blockedBy, nextSightingExpiry } from './refusals.ts';
import { advance, capacityOf, expectedReleases, isProgram, latestReleases } from './window.ts';
import {
  comeBackGraceMs,
  floor,
  inOrder,
  isAwaited,
  max,
  min,
  minWaitMs,
  type QueuePlace,
  rankOf,
  rulesOf,
  type Waiter,
  type WindowState,
} from './window-state.ts';

/* When waiters can be served, and which of them are woken because that is earlier than they were told. */

/** Permits that come free within this time are granted at once; the activity waits for their moment. */
export const horizonMs = 1_500;
/** Waiters that are asked to come at the same time: the next are woken as these come. */
const mostComing = 50;

/** When an asker at this place can expect a permit. After a block, a crowd comes one group a second. */
export function servableAt(state: WindowState, place: QueuePlace, blocked: { until: number } | null): number {
  const slot = slotMoment(state, expectedReleases(state), capacityOf(state), place.ahead);
  if (blocked === null) return slot;
  const turn = floor(place.ahead / mostComing) * minWaitMs;
  return max(slot, afterBlock(state, blocked.until, place.ahead) + turn);
}

/** One request goes first after a refusal: the others follow when it was accepted, or had its time. */
const afterBlock = ({ probe }: WindowState, until: number, ahead: number): number =>
  probe !== null && ahead > 0 ? until + leaseMs : until;

/** When a slot is free beside those that are kept for waiters ahead. */
function slotMoment(state: WindowState, releases: readonly number[], capacity: number, kept: number): number {
  const index = releases.length - capacity + kept;
  return index < 0 ? state.now : (releases[index] ?? state.now + state.settings.windowMs);
}

interface Outlook {
  /** In their order; those in `holders` are expected now. */
  waiters: Waiter[];
  holders: string[];
  /**
   * When to look again without any message: a slot comes free for a waiter that was told a later time, a waiter loses
   * its slot or rises, an override ends, or a sighting of other clients expires. Null if none waits or nothing of this
   * is due.
   */
  due: number | null;
}

/**
 * Brings forward waiters that can be served now but were told to come at least a second later; `holders` are the ones
 * to wake. Others learn of their better time when it comes, at `due`: one slot that comes free wakes one waiter, not
 * all waiters after it.
 */
export function bringWaitersForward(
  before: WindowState,
  at: number,
): { state: WindowState; holders: string[]; due: number | null } {
  const state = advance(before, at);
  if (state.waiters.length === 0) return { state, holders: [], due: null };
  const { waiters, holders, due } = outlook(state);
  return { state: { ...state, waiters }, holders, due };
}

/** The waiter is gone for good. */
export function dropWaiter(before: WindowState, holder: string, at: number): WindowState {
  const state = advance(before, at);
  return { ...state, waiters: state.waiters.filter((waiter) => waiter.holder !== holder) };
}

function outlook(state: WindowState): Outlook {
  const { now } = state;
  const rules = rulesOf(state);
  const waiters = inOrder(state.waiters, rules);
  const holders: string[] = [];
  const blockedUntil = blockedBy(state, null)?.until ?? now;
  // Not before a permit is certain: otherwise a pass woken for a lease that is still in use would ask in vain again and
  // again.
  const releases = latestReleases(state);
  const capacity = capacityOf(state);
  let coming = waiters.filter((waiter) => waiter.expectedAt <= now && isAwaited(waiter, now)).length;
  let due = Number.POSITIVE_INFINITY;
  let firstExpected = Number.POSITIVE_INFINITY;
  let ahead = 0;
  let isUrgent = false;
  let rises = false;

  for (const [i, waiter] of waiters.entries()) {
    if (!isAwaited(waiter, now)) continue;
    // By rising, `refresh` may come before those that are more urgent now.
    if (rankOf(waiter, rules) === 0) isUrgent = true;
    else rises ||= isUrgent;
    const slot = slotMoment(state, releases, capacity, ahead);
    const block = afterBlock(state, blockedUntil, ahead);
    const servable = max(block, slot - horizonMs);
    if (waiter.expectedAt - max(block, slot) >= minWaitMs) {
      if (servable > now) due = min(due, servable);
      else if (coming < mostComing) {
        coming += 1;
        // A program gets no signals: it comes back at its time, and keeps its place until then.
        if (!isProgram(state, waiter.holder)) holders.push(waiter.holder);
        waiters[i] = { ...waiter, expectedAt: now };
      }
    }
    firstExpected = min(firstExpected, waiters[i]?.expectedAt ?? now);
    ahead += 1;
  }

  if (ahead === 0) return { waiters, holders, due: null };
  if (ahead > 1) due = min(due, firstExpected + comeBackGraceMs);
  // The order matters when a slot is free: earlier no waiter is woken.
  const orderMatters = max(blockedUntil, slotMoment(state, releases, capacity, 0) - horizonMs);
  if (rises && rules.refreshRisesAt !== null) due = min(due, max(rules.refreshRisesAt, orderMatters));
  const { override, sightings, settings } = state;
  due = min(due, override?.until ?? due, nextSightingExpiry(sightings, settings.windowMs) ?? due);
  return { waiters, holders, due: Number.isFinite(due) ? due : null };
}
