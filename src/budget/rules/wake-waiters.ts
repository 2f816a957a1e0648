/** When waiters can be served, and which of them are woken because that is earlier than they were told. */

import { nextSightingExpiry } from './other-clients.ts';
import { leaseMs } from './permits.ts';
import { isProgram } from './program-shares.ts';
import { floor, max, min } from './quick-math.ts';
import { spareFrom } from './spare-requests.ts';
import {
  comeBackGraceMs,
  inOrder,
  isAwaited,
  minWaitMs,
  type Place,
  promotedAt,
  rankOf,
  slotsKeptFor,
  type Waiter,
} from './waiter-order.ts';
import { advance } from './advance-window.ts';
import { capacityOf, expectedReleases, latestReleases } from './occupied-slots.ts';
import { blockedBy } from './window-blocks.ts';
import { rulesOf, type WindowState } from './window-state.ts';

/** The most permits of a lease when others have or want some. */
export const leaseShared = 5;
/** Permits that come free within this time are granted at once; the activity waits for their moment. */
export const horizonMs = 1_500;
/** Waiters that are asked to come at the same time: the next are woken as these come. */
export const mostComing = 50;

/** When an asker at this place can expect a permit. After a block, a crowd comes one group a second. */
export function servableAt(state: WindowState, place: Place, blocked: { until: number } | null): number {
  const slot = slotMoment(state, expectedReleases(state), capacityOf(state), place.kept);
  if (blocked === null) return slot;
  const turn = floor(place.ahead / mostComing) * minWaitMs;
  return max(slot, afterBlock(state, blocked.until, place.ahead) + turn);
}

/** One request goes first after a refusal: the others follow when it was accepted, or had its time. */
const afterBlock = ({ probe }: WindowState, until: number, ahead: number): number =>
  probe !== null && ahead > 0 ? until + leaseMs : until;

/** When a slot is free beside those that are kept. */
function slotMoment(state: WindowState, releases: readonly number[], capacity: number, kept: number): number {
  const index = releases.length - capacity + kept;
  return index < 0 ? state.now : (releases[index] ?? state.now + state.settings.windowMs);
}

/** What the waiters can expect. */
interface Outlook {
  /** In their order; those in `holders` are expected now. */
  waiters: Waiter[];
  /** The holders to wake. */
  holders: string[];
  /**
   * When to look again without any message: a slot comes free for a waiter that was told a later time, a waiter loses
   * its slot or rises, an override ends, or a sighting of other clients expires. Null if none waits or nothing of this
   * is due. Waiters for spare requests do not count: they come when told.
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
  const wake = (i: number, waiter: Waiter) => {
    // A program is no workflow: it comes at the time it was told, and keeps its place until then.
    if (!isProgram(state, waiter.holder)) holders.push(waiter.holder);
    waiters[i] = { ...waiter, expectedAt: now };
  };
  const blockedUntil = blockedBy(state, null)?.until ?? now;
  // Not before a permit is certain: otherwise a pass woken for a lease that is still in use would ask in vain again and
  // again.
  const releases = latestReleases(state);
  const capacity = capacityOf(state);
  // From then on the order matters: earlier no waiter is woken.
  const orderMatters = max(blockedUntil, slotMoment(state, releases, capacity, 0) - horizonMs);
  const queue = new KeptSlots();
  let coming = waiters.filter((waiter) => waiter.expectedAt <= now && isAwaited(waiter, now)).length;
  let due = Number.POSITIVE_INFINITY;
  let firstExpected = Number.POSITIVE_INFINITY;
  let firstSpare: number | null = null;

  for (const [i, waiter] of waiters.entries()) {
    if (!isAwaited(waiter, now)) continue;
    if (waiter.class === 'verify') {
      firstSpare ??= i;
      continue;
    }
    const rank = rankOf(waiter, rules);
    const risesAt = promotedAt(waiter, rules) ?? Number.POSITIVE_INFINITY;
    const gains = queue.gainsByRising(rank, risesAt);
    const kept = queue.before(waiter, rank, risesAt);
    const slot = slotMoment(state, releases, capacity, kept);
    const block = afterBlock(state, blockedUntil, queue.length - 1);
    const servable = max(block, slot - horizonMs);
    if (waiter.expectedAt - max(block, slot) >= minWaitMs) {
      if (servable > now) due = min(due, servable);
      else if (coming < mostComing) {
        coming += 1;
        wake(i, waiter);
      }
    }
    firstExpected = min(firstExpected, waiters[i]?.expectedAt ?? now);
    if (gains) due = min(due, max(risesAt, orderMatters));
  }

  const spare = firstSpare === null ? undefined : waiters[firstSpare];
  // A better estimate is not worth a wake-up for a spare request.
  if (
    firstSpare !== null &&
    spare &&
    queue.length === 0 &&
    blockedUntil <= now &&
    spare.expectedAt - now >= minWaitMs
  ) {
    if (spareFrom(state, spare, 0) <= now) wake(firstSpare, spare);
  }
  if (queue.length === 0) return { waiters, holders, due: null };
  if (queue.length > 1) due = min(due, firstExpected + comeBackGraceMs);
  due = min(due, state.override?.until ?? due, nextSightingExpiry(state.sightings, rules.promotionMs) ?? due);
  return { waiters, holders, due: Number.isFinite(due) ? due : null };
}

/** Counts the slots kept for those ahead, along a queue in its order. */
class KeptSlots {
  length = 0;
  #rank = -1;
  #moreUrgent = 0;
  #ofRank = 0;
  #equals = 0;
  /** When the last of a rank rises, by rank: those of rank 0 never do. */
  readonly #lastRise: number[] = [];

  /** Whether the next one comes ahead or level by rising at `risesAt`: with one that is still of its rank, or the rank above. */
  gainsByRising(rank: number, risesAt: number): boolean {
    return (this.#lastRise[rank] ?? 0) > risesAt || (this.#lastRise[rank - 1] ?? 0) > risesAt;
  }

  /** Slots kept for those before this one, which joins them. */
  before(claim: Pick<Waiter, 'wants'>, rank: number, risesAt: number): number {
    this.#lastRise[rank] = max(this.#lastRise[rank] ?? 0, risesAt);
    if (rank !== this.#rank) {
      this.#moreUrgent += this.#ofRank;
      this.#rank = rank;
      this.#ofRank = 0;
      this.#equals = 0;
    }
    const kept = this.#moreUrgent + this.#equals * slotsKeptFor(claim, false, leaseShared);
    this.#equals += 1;
    this.#ofRank += slotsKeptFor(claim, true, leaseShared);
    this.length += 1;
    return kept;
  }
}
