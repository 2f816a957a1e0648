/**
 * An organization's sliding window of analytics requests, as a state machine without a clock (B1 to B4).
 *
 * A permit is granted only for a moment at which fewer slots than the limit are occupied (occupied-slots.ts). In any
 * interval of the window's length, all requests that arrived in it occupy their slots together at the last arrival, so
 * they are never more than the limit.
 *
 * All moments are milliseconds of the budget workflow's clock; functions return a new state and never throw.
 */

import { advance } from './advance-window.ts';
import { forecastFor } from './holder-forecast.ts';
import { ownSeenAfter } from './installations.ts';
import { ascending, capacityOf, expectedReleases, freeMoments, latestReleases, limitOf } from './occupied-slots.ts';
import { addRefusal, correctSightings, nextSightingExpiry } from './other-clients.ts';
import {
  type BudgetOverride,
  type LeaseReport,
  leaseMs,
  maxLease,
  type PermitAnswer,
  type PermitAsk,
  type WaitReason,
  type WindowSettings,
} from './permits.ts';
import { chargeProgram, isProgram, noteProgram, roomOf } from './program-shares.ts';
import { spareFrom } from './spare-requests.ts';
import {
  ahead,
  comeBackGraceMs,
  countSameRank,
  inOrder,
  minWaitMs,
  promotedAt,
  slotsKeptFor,
  turnOf,
  type Waiter,
} from './waiter-order.ts';
import { blockedBy, refuseKey, throttle } from './window-blocks.ts';
import { active, type Lease, probeDue, rulesOf, type WindowState, writtenBefore } from './window-state.ts';

/** Most pages of a lease when no one else wants any. */
const leaseAlone = 10;
/** Most pages of a lease when others have or want permits. */
const leaseShared = 5;
/** Permits that come free within this time are granted at once; the activity waits for their moment. */
export const horizonMs = 1_500;
/** Ids of returned questions that are remembered. */
const returnedKept = 20;

/** Answers a question for permits. Never blocks: grants, or says when to come back. */
export function ask(before: WindowState, question: PermitAsk, at: number): [WindowState, PermitAnswer] {
  const state = advance(before, at);
  const repeated = state.leases.find((lease) => lease.id === question.id);
  if (repeated) return [state, granted(repeated, state)];
  // The asker gave up waiting for an answer, and its return of the lease overtook the question.
  if (state.returned.includes(question.id)) return [state, { kind: 'superseded' }];
  if (question.attemptAt < (state.attempts[question.holder] ?? 0)) return [state, { kind: 'superseded' }];
  // No attempt is scheduled later than now: one that claims it would shut out all that follow.
  state.attempts[question.holder] = Math.min(question.attemptAt, state.now);

  state.ownSeenAt = ownSeenAfter(state, question.installation);
  noteProgram(state, question);
  const room = roomOf(state, question.holder);
  const claim = claimOf(state, { ...question, wants: Math.min(question.wants, room.permits) });
  const queue = ahead(claim, state.waiters, rulesOf(state));
  const blocked = blockedBy(state, question);
  if (room.permits === 0) {
    // It loses its place: what comes free before is not for it, so nothing must be kept for it.
    state.waiters = state.waiters.filter((waiter) => waiter.holder !== claim.holder);
    const until = Math.max(room.from, blocked?.until ?? 0);
    return refuse(state, claim, queue, { until, reason: 'share' }, false);
  }
  if (blocked) return refuse(state, claim, queue, blocked, question.mayWait !== false);

  if (claim.class === 'verify') {
    const until = spareFrom(state, claim, queue);
    if (until > state.now) {
      return refuse(state, claim, queue, { until, reason: 'kept-free' }, question.mayWait !== false);
    }
    state.lastSpare = state.now;
  }

  const kept = slotsKeptFor(claim, queue, rulesOf(state), leaseShared);
  const free = freeMoments(state, latestReleases(state), kept, permitsFor(state, claim));
  const usable = free.map((moment) => Math.max(moment, state.now)).filter((moment) => moment <= state.now + horizonMs);
  if (usable.length === 0) {
    const full = { until: expectedFor(state, kept), reason: 'window-full' as const };
    return refuse(state, claim, queue, full, question.mayWait !== false);
  }

  const fair = Math.ceil(usable.length / (1 + countSameRank(claim, state.waiters, rulesOf(state))));
  const lease: Lease = {
    id: question.id,
    holder: claim.holder,
    project: claim.project,
    class: claim.class,
    remaining: claim.remaining,
    since: claim.since,
    grantedAt: state.now,
    useBy: state.now + leaseMs,
    arrivesBy: state.now + leaseMs + state.settings.arrivalMs,
    notBefore: usable.slice(0, fair),
  };
  state.leases.push(lease);
  state.waiters = state.waiters.filter((waiter) => waiter.holder !== claim.holder);
  state.served[turnOf(claim)] = state.now;
  if (state.probe === probeDue) state.probe = lease.id;
  return [state, granted(lease, state)];
}

/**
 * Takes in the report of a lease: used permits occupy their slots for one window from now, unused ones come back. Of an
 * unknown lease (a repeated report, or one so late that its slots are free) only a refusal counts; if nothing was sent
 * under it, it will not be granted any more.
 */
export function report(before: WindowState, result: LeaseReport, at: number): WindowState {
  const state = advance(before, at);
  const lease = state.leases.find((candidate) => candidate.id === result.leaseId);
  const arrivals = lease ? closeLease(state, lease, result) : [];
  if (!lease && result.arrived.length === 0) {
    state.returned = [...state.returned, result.leaseId].slice(-returnedKept);
  }
  if (result.throttled) {
    const others = withoutArrival(state, arrivals.at(-1));
    throttle(state, expectedReleases(others)[0], result.throttled.retryAfterMs);
    // A repeated or late refusal says nothing about who uses the window now.
    if (lease) state.sightings = addRefusal(state.sightings, refusalIn(others));
  }
  if (result.unauthorized) refuseKey(state, lease !== undefined && before.probe === lease.id);
  else if (result.accepted) state.refusedKey = null;
  return state;
}

/**
 * Takes over settings unless they were written before those in force (decision 9); a smaller limit binds at once,
 * whatever is occupied already.
 */
export function configure(before: WindowState, settings: WindowSettings, at: number): WindowState {
  const state = advance(before, at);
  const own = state.settings;
  const { installation = own.installation } = settings;
  const isOther = own.installation !== undefined && installation !== own.installation;
  const isOlder = !isOther && (settings.configuredAt ?? 0) < (own.configuredAt ?? 0);
  const taken = { ...writtenBefore(settings, state.now), ...(installation === undefined ? {} : { installation }) };
  const next = isOlder ? state : { ...state, settings: taken };
  return { ...next, ownSeenAt: ownSeenAfter(next, settings.installation) };
}

/** Overrides limit or reserve; null ends that. */
export function setOverride(before: WindowState, override: BudgetOverride | null, at: number): WindowState {
  return advance({ ...before, override }, at);
}

/** Pauses until `until`, null: until resumed. Null as `pause` resumes. */
export function setPause(before: WindowState, pause: { until: number | null } | null, at: number): WindowState {
  const state = advance(before, at);
  return advance({ ...state, paused: pause && { since: state.paused?.since ?? state.now, until: pause.until } }, at);
}

/** The key may have been changed: the next question tries it. */
export function retryKey(before: WindowState, at: number): WindowState {
  const state = advance(before, at);
  return { ...state, refusedKey: state.refusedKey && { ...state.refusedKey, nextTryAt: state.now } };
}

/** A signal came that makes no sense. */
export function ignore(before: WindowState, at: number): WindowState {
  return { ...advance(before, at), ignored: before.ignored + 1 };
}

/** Brings forward waiters that can come back at least a second earlier than told; `holders` are to be woken. */
export function bringWaitersForward(before: WindowState, at: number): { state: WindowState; holders: string[] } {
  const state = advance(before, at);
  const blocked = blockedBy(state, null);
  const rules = rulesOf(state);
  const holders: string[] = [];
  state.waiters = inOrder(state.waiters, rules).map((waiter) => {
    const before = ahead(waiter, state.waiters, rules);
    const isSpare = waiter.class === 'verify';
    const free = isSpare
      ? spareFrom(state, waiter, before)
      : expectedFor(state, slotsKeptFor(waiter, before, rules, leaseShared));
    const expectedAt = Math.max(free, blocked?.until ?? 0);
    // A better estimate is not worth a wake-up for a spare request.
    if (expectedAt > waiter.expectedAt - minWaitMs || (isSpare && expectedAt > state.now)) return waiter;
    if (!isProgram(state, waiter.holder)) holders.push(waiter.holder);
    return { ...waiter, expectedAt };
  });
  return { state, holders };
}

/**
 * When waiters may get permits without any message: one of several loses its place or rises, an override ends, or a
 * sighting of other clients expires. Null when none waits or nothing of this is due. Waiters for spare requests do not
 * count: they come when told.
 */
export function nextChange(state: WindowState): number | null {
  const waiters = state.waiters.filter((waiter) => waiter.class !== 'verify');
  if (waiters.length === 0) return null;
  const turns =
    waiters.length < 2
      ? []
      : waiters.flatMap((waiter) => [waiter.expectedAt + comeBackGraceMs, promotedAt(waiter, rulesOf(state))]);
  const moments = [
    ...turns,
    state.override?.until ?? null,
    nextSightingExpiry(state.sightings, state.settings.windowMs),
  ];
  const due = moments.filter((moment) => moment !== null);
  return due.length === 0 ? null : Math.min(...due);
}

/** The asker as a waiter; a present waiter keeps its place. */
function claimOf(state: WindowState, { holder, project, class: kind, wants, remaining, leave }: PermitAsk): Waiter {
  const known = state.waiters.find((waiter) => waiter.holder === holder);
  const since = known?.since ?? state.now;
  const pages = Math.min(maxLease, Math.max(1, Math.floor(wants)));
  return {
    holder,
    project,
    class: kind,
    wants: pages,
    remaining: remaining ?? null,
    since,
    expectedAt: state.now,
    ...(leave === undefined ? {} : { leave }),
  };
}

/** The most permits a claim can be granted, given the other holders and waiters. */
function permitsFor(state: WindowState, claim: Waiter): number {
  if (state.probe === probeDue || claim.class === 'verify') return 1;
  const others = [...state.waiters, ...active(state)].some(
    (other) => other.holder !== claim.holder && other.class !== 'verify',
  );
  // One holder never gets a small limit whole, or a crash would forfeit the whole window.
  return Math.min(claim.wants, others ? leaseShared : leaseAlone, Math.max(1, Math.ceil(capacityOf(state) / 2)));
}

/** When an asker can expect a permit if `kept` slots go to others first. */
function expectedFor(state: WindowState, kept: number): number {
  return freeMoments(state, expectedReleases(state), kept, 1)[0] ?? state.now + state.settings.windowMs;
}

function refuse(
  state: WindowState,
  claim: Waiter,
  before: readonly Waiter[],
  { until, reason }: { until: number; reason: WaitReason },
  mayWait: boolean,
): [WindowState, PermitAnswer] {
  const waiter = { ...claim, expectedAt: Math.max(until, state.now + minWaitMs) };
  const answer = {
    kind: 'wait' as const,
    now: state.now,
    waitUntil: waiter.expectedAt,
    place: before.length + 1,
    behind: before.slice(0, 5).map(({ holder }) => holder),
    reason,
  };
  if (!mayWait) return [state, { ...answer, forecast: null }];
  const known = state.waiters.some(({ holder }) => holder === claim.holder);
  state.waiters = known
    ? state.waiters.map((other) => (other.holder === claim.holder ? waiter : other))
    : [...state.waiters, waiter];
  return [state, { ...answer, forecast: forecastFor(state, waiter) }];
}

function closeLease(state: WindowState, lease: Lease, { arrived, accepted, throttled }: LeaseReport): number[] {
  state.leases = state.leases.filter((candidate) => candidate !== lease);
  const used = arrived.slice(0, lease.notBefore.length);
  // A process that was stopped may have written long after its lease: its arrivals may be later than `arrivesBy`.
  const latest = state.now + lease.arrivesBy - lease.useBy;
  const arrivals = used.map((moment, i) => Math.min(latest, Math.max(moment, lease.notBefore[i] ?? moment)));
  state.spent = [...state.spent, ...arrivals].sort(ascending);
  chargeProgram(state, lease.holder, arrivals);
  // The service may not have counted the request it refused.
  const counted = throttled ? arrivals.slice(0, -1) : arrivals;
  state.sightings = correctSightings(state.sightings, counted, state.settings.windowMs);
  if (state.probe === lease.id) state.probe = accepted ? null : probeDue;
  return arrivals;
}

/** The refused request's own slot says nothing about when the service has room again, or about our share. */
function withoutArrival(state: WindowState, refused: number | undefined): WindowState {
  const index = refused === undefined ? -1 : state.spent.indexOf(refused);
  return { ...state, spent: state.spent.filter((_, i) => i !== index) };
}

const refusalIn = (state: WindowState) => ({
  at: state.now,
  limit: limitOf(state),
  own: state.spent,
  windowMs: state.settings.windowMs,
});

function granted(lease: Lease, state: WindowState): PermitAnswer {
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
