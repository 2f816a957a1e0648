import { type Forecast, leaseMs, maxLease, type PermitAnswer, type PermitAsk, type WaitReason } from './permits.ts';
import {
  advance,
  attemptOf,
  capacityOf,
  expectedReleases,
  freeMoments,
  isProgram,
  latestReleases,
  noteProgram,
  ownSeenAfter,
  roomOf,
  withAttempt,
  withTurn,
} from './window.ts';
import {
  active,
  blockedBy,
  comeBackGraceMs,
  floor,
  inOrder,
  isAwaited,
  type LeaseState,
  max,
  min,
  minWaitMs,
  mostWaiters,
  nextSightingExpiry,
  occupancyMs,
  placeOf,
  probeDue,
  type QueuePlace,
  rankOf,
  rulesOf,
  turnOf,
  type Waiter,
  type WindowState,
  wantCheck,
} from './window-state.ts';

/* How the budget answers a question for permits: which asker gets a lease, and with which moments (B1 to B4). */

/** The most permits of a lease while nobody as urgent waits; otherwise waiters take turns, a permit each. */
const leaseAlone = 10;

/** Answers a question for permits. Never blocks: grants, or says when to come back. */
export function ask(before: WindowState, question: PermitAsk, at: number): [WindowState, PermitAnswer] {
  const state = advance(before, at);
  const repeated = state.leases.find((lease) => lease.id === question.id);
  if (repeated) return [state, granted(repeated, state)];
  // The asker gave up waiting for an answer, and its return of the lease overtook the question.
  if (state.returned.includes(question.id)) return [state, { kind: 'superseded' }];
  if (question.attemptAt < attemptOf(state, question.holder)) return [state, { kind: 'superseded' }];
  // No attempt is scheduled later than now: one that claims it would shut out all that follow.
  state.attempts = withAttempt(state, { holder: question.holder, at: Math.min(question.attemptAt, state.now) });

  state.ownSeenAt = ownSeenAfter(state, question.installation);
  noteProgram(state, question);
  const room = roomOf(state, question.holder);
  const claim = claimOf(state, { ...question, wants: Math.min(question.wants, room.permits) });
  const place = placeOf(claim, state.waiters, rulesOf(state));
  const wait = (reason: WaitReason, until: number) => refuse(state, claim, place, { until, reason }, question);
  if (question.program && state.refusedKey) {
    state.keyChecks = wantCheck(state.keyChecks, state.refusedKey, state.now);
  }
  const blocked = blockedBy(state, question);
  if (room.permits === 0) {
    // It loses its place: what comes free before is not for it, so nothing must be kept for it.
    state.waiters = state.waiters.filter((waiter) => waiter.holder !== claim.holder);
    const until = Math.max(room.from, blocked?.until ?? 0);
    return refuse(state, claim, place, { until, reason: 'share' }, { ...question, mayWait: false });
  }
  if (blocked) return wait(blocked.reason, Math.max(blocked.until, servableAt(state, place, blocked)));

  const free = freeMoments(state, latestReleases(state), place.ahead, permitsFor(state, claim, place));
  const usable = free.map((moment) => Math.max(moment, state.now)).filter((moment) => moment <= state.now + horizonMs);
  if (usable.length === 0) return wait('window-full', servableAt(state, place, null));

  const lease: LeaseState = {
    id: question.id,
    holder: claim.holder,
    project: claim.project,
    class: claim.class,
    remaining: claim.remaining,
    since: claim.since,
    grantedAt: state.now,
    useBy: state.now + leaseMs,
    arrivesBy: state.now + leaseMs + state.settings.arrivalMs,
    notBefore: usable,
  };
  state.leases = [...state.leases, lease];
  takeTurn(state, claim);
  if (state.probe === probeDue) state.probe = lease.id;
  return [state, granted(lease, state)];
}

/** The asker as a waiter; a present waiter keeps its place. */
function claimOf(state: WindowState, { holder, project, class: kind, wants, remaining }: PermitAsk): Waiter {
  const turn = turnOf({ project, class: kind });
  return {
    holder,
    project,
    class: kind,
    wants: Math.min(maxLease, Math.max(1, Math.floor(wants))),
    remaining: remaining ?? null,
    since: state.waiters.find((waiter) => waiter.holder === holder)?.since ?? state.now,
    servedAt: state.served.find((served) => served.turn === turn)?.at ?? null,
    expectedAt: state.now,
  };
}

/** The most permits a claim can be granted. */
function permitsFor(state: WindowState, claim: Waiter, { contended }: QueuePlace): number {
  if (state.probe === probeDue || contended) return 1;
  // One holder never gets a small limit whole, or a crash would forfeit the whole window.
  return Math.min(claim.wants, leaseAlone, Math.max(1, Math.ceil(capacityOf(state) / 2)));
}

/** The asker waits no more, and its turn was now. */
function takeTurn(state: WindowState, claim: Waiter): void {
  const { project, class: kind, holder } = claim;
  const waiting = state.waiters.filter((waiter) => waiter.holder !== holder);
  const isSameTurn = (waiter: Waiter) => waiter.project === project && waiter.class === kind;
  state.waiters = waiting.some(isSameTurn)
    ? waiting.map((waiter) => (isSameTurn(waiter) ? { ...waiter, servedAt: state.now } : waiter))
    : waiting;
  state.served = withTurn(state, { turn: turnOf(claim), at: state.now });
  const hasRivals = state.waiters.some((waiter) => waiter.class !== 'refresh' && isAwaited(waiter, state.now));
  if (kind === 'refresh' && !hasRivals) state.refreshWaits = null;
}

function refuse(
  state: WindowState,
  claim: Waiter,
  { ahead, behind }: QueuePlace,
  { until, reason }: { until: number; reason: WaitReason },
  { mayWait = true }: PermitAsk,
): [WindowState, PermitAnswer] {
  const waiter = { ...claim, expectedAt: Math.max(until, state.now + minWaitMs) };
  const answer = {
    kind: 'wait' as const,
    now: state.now,
    waitUntil: waiter.expectedAt,
    place: ahead + 1,
    behind,
    reason,
  };
  if (!mayWait) return [state, { ...answer, forecast: null }];
  if (waiter.class === 'refresh') state.refreshWaits ??= state.now;
  const known = state.waiters.findIndex(({ holder }) => holder === claim.holder);
  if (known >= 0) state.waiters = state.waiters.with(known, waiter);
  else if (state.waiters.length < mostWaiters) state.waiters = [...state.waiters, waiter];
  return [state, { ...answer, forecast: forecastFor(state, waiter) }];
}

function granted(lease: LeaseState, state: WindowState): PermitAnswer {
  return {
    kind: 'granted',
    leaseId: lease.id,
    grantedAt: lease.grantedAt,
    useBy: lease.useBy,
    notBefore: lease.notBefore,
    arrivalMs: lease.arrivesBy - lease.useBy,
    forecast: forecastFor(state, lease),
  };
}

/* When waiters can be served, and which of them are woken because that is earlier than they were told. */

/** Permits that come free within this time are granted at once; the activity waits for their moment. */
export const horizonMs = 1_500;
/** Waiters that are asked to come at the same time: the next are woken as these come. */
const mostComing = 50;

/** When an asker at this place can expect a permit. After a block, a crowd comes one group a second. */
function servableAt(state: WindowState, place: QueuePlace, blocked: { until: number } | null): number {
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
        // A program gets no signals: if it comes back more than `placeKeptMs` after this, it has lost its place.
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

/* Estimates when a pass will be done, from the slots of the window and the competing demand. */

export interface Slots {
  now: number;
  /** Nothing is granted earlier, e.g. during a pause. */
  notBefore: number;
  windowMs: number;
  capacity: number;
  releases: readonly number[];
}

/** The last moment that is a valid date. */
const latestMoment = 8.64e15;

/** What a holder or waiter wants. */
export interface Demand {
  holder: string;
  rank: number;
  /** Pages left to read; null when unknown. */
  remaining: number | null;
  /** Of these, pages that have their permits already. */
  granted: number;
}

/** When the `count`th permit (1 and up) from now can be used; every slot comes round once per window. */
export function momentOfPermit(count: number, { notBefore, windowMs, capacity, releases }: Slots): number {
  const rounds = floor((count - 1) / capacity);
  const place = (count - 1) % capacity;
  const free = capacity - releases.length;
  const moment = place < free ? notBefore : max(notBefore, releases[place - free] ?? notBefore);
  return min(latestMoment, moment + rounds * windowMs);
}

/** More urgent passes go first, those of a rank take turns. Null when the remaining pages are unknown. */
export function forecastOf(demand: Demand, others: readonly Demand[], slots: Slots): Forecast | null {
  const pages = demand.remaining;
  if (pages === null) return null;
  let before = 0;
  for (const other of others) {
    if (other.rank > demand.rank || other.holder === demand.holder) continue;
    const theirs = missingPermits(other) ?? 1;
    before += other.rank < demand.rank ? theirs : min(theirs, pages);
  }
  const missing = missingPermits(demand) ?? 0;
  const doneAt = missing === 0 ? slots.now : momentOfPermit(before + missing, slots);
  return { doneAt, pages, windows: Math.ceil((doneAt - slots.now) / slots.windowMs) };
}

/** Permits a demand still needs; null when that is unknown. */
const missingPermits = ({ remaining, granted }: Demand): number | null =>
  remaining === null ? null : max(0, remaining - granted);

/** Forecasts of holders and waiters, from the present demand of all: one look at the window serves them all. */
export function forecaster(state: WindowState): (holder: Waiter | LeaseState) => Forecast | null {
  const slots = {
    now: state.now,
    notBefore: blockedBy(state, null)?.until ?? state.now,
    windowMs: occupancyMs(state),
    capacity: capacityOf(state),
    releases: expectedReleases(state),
  };
  const rules = rulesOf(state);
  const demandOf = (wanting: Waiter | LeaseState): Demand => ({
    holder: wanting.holder,
    rank: rankOf(wanting, rules),
    remaining: wanting.remaining,
    granted: 'notBefore' in wanting ? wanting.notBefore.length : 0,
  });
  const demands = [...state.waiters.map(demandOf), ...active(state).map(demandOf)];
  return (holder) => forecastOf(demandOf(holder), demands, slots);
}

/** The forecast of one holder or waiter. */
const forecastFor = (state: WindowState, holder: Waiter | LeaseState): Forecast | null =>
  holder.remaining === null ? null : forecaster(state)(holder);
