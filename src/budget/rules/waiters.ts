import { leaseMs } from './permits.ts';
import { blockedBy, nextSightingExpiry } from './refusals.ts';
import { advance, capacityOf, expectedReleases, freeMoments, isProgram, latestReleases } from './window.ts';
import {
  comeBackGraceMs,
  floor,
  inOrder,
  isAwaited,
  max,
  min,
  minWaitMs,
  occupancyMs,
  type Place,
  promotedAt,
  rankOf,
  rulesOf,
  slotsKeptFor,
  type Waiter,
  type WindowState,
} from './window-state.ts';

/*
 * Spare requests: those that would expire unused (S4, docs/decisions/0007). The window slides, so a slot used now is
 * occupied for one window. A request is spare only if enough slots stay free for what is expected within that time,
 * plus a share for what is not.
 */

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

/* When waiters can be served, and which of them are woken because that is earlier than they were told. */

/** The most permits of a lease when others have or want some. */
export const leaseShared = 5;
/** Permits that come free within this time are granted at once; the activity waits for their moment. */
export const horizonMs = 1_500;
/** Waiters that are asked to come at the same time: the next are woken as these come. */
const mostComing = 50;

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
