/**
 * An organization's sliding window of analytics requests, as a state machine without a clock (B1 to B4).
 *
 * A permit is granted only for a moment at which fewer slots than the limit are held (held-slots.ts). So for any
 * interval of the window's length, the slots of all requests that arrived in it are held together at its last arrival,
 * and there are never more of them than the limit.
 *
 * All moments are milliseconds of the budget workflow's clock; functions return a new state and never throw.
 */

import { advance } from './advance-window.ts';
import { type Demand, forecastOf } from './forecast.ts';
import { ascending, capacityOf, freeMoments, heldUntil, holdMs, limitOf, probablyHeldUntil } from './held-slots.ts';
import { corrected, nextForgotten, sighted } from './other-clients.ts';
import {
  ahead,
  comeBackGraceMs,
  equals,
  inOrder,
  minWaitMs,
  type QueueRules,
  risesAt,
  slotsKeptFor,
  turnOf,
  type Waiter,
} from './permit-queue.ts';
import {
  type BudgetOverride,
  type Forecast,
  type LeaseReport,
  leaseMs,
  maxLease,
  type PermitAnswer,
  type PermitAsk,
  type WaitReason,
  type WindowSettings,
} from './permits.ts';
import { spareFrom } from './spare-requests.ts';
import { blockedBy, refuseKey, throttle } from './window-blocks.ts';
import { active, type Lease, probeDue, type WindowState } from './window-state.ts';

/** Pages a lease has when nobody else wants any. */
const leaseAlone = 10;
/** Pages a lease has at most when others hold or want permits. */
const leaseShared = 5;
/** Permits that come free within this time are granted at once with a moment to wait for, inside the activity. */
export const horizonMs = 1_500;
/** Leases given back before they were asked for that are still known. */
const givenBackKept = 20;

/** Answers a question for permits. Never blocks: grants, or says when to come back. */
export function ask(before: WindowState, question: PermitAsk, at: number): [WindowState, PermitAnswer] {
  const state = advance(before, at);
  const repeated = state.leases.find((lease) => lease.id === question.id);
  if (repeated) return [state, granted(repeated, state)];
  // Whoever asked has lost patience: its word that it needs nothing any more has overtaken the question.
  if (state.givenBack?.includes(question.id)) return [state, { kind: 'superseded' }];
  if (question.attemptAt < (state.attempts[question.holder] ?? 0)) return [state, { kind: 'superseded' }];
  state.attempts[question.holder] = question.attemptAt;

  const claim = claimOf(state, question);
  const queue = ahead(claim, state.waiters, rulesOf(state));
  const blocked = blockedBy(state, question);
  if (blocked) return refuse(state, claim, queue, blocked, question.mayWait !== false);

  if (claim.class === 'verify') {
    const until = spareFrom(state, claim, queue);
    if (until > state.now) {
      return refuse(state, claim, queue, { until, reason: 'kept-free' }, question.mayWait !== false);
    }
    state.lastSpare = state.now;
  }

  const kept = slotsKeptFor(claim, queue, rulesOf(state), leaseShared);
  const free = freeMoments(state, heldUntil(state), kept, permitsFor(state, claim));
  const usable = free.map((moment) => Math.max(moment, state.now)).filter((moment) => moment <= state.now + horizonMs);
  if (usable.length === 0) {
    const full = { until: expectedFor(state, kept), reason: 'window-full' as const };
    return refuse(state, claim, queue, full, question.mayWait !== false);
  }

  const fair = Math.ceil(usable.length / (1 + equals(claim, state.waiters, rulesOf(state))));
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
 * Takes in what became of a lease: used permits hold their slots for one window from now on, unused ones come back.
 * A report of an unknown lease (repeated, or so late that its slots are free) changes nothing but a refusal; one that
 * nothing was sent under will not be granted any more.
 */
export function report(before: WindowState, result: LeaseReport, at: number): WindowState {
  const state = advance(before, at);
  const lease = state.leases.find((candidate) => candidate.id === result.leaseId);
  const arrivals = lease ? settle(state, lease, result) : [];
  if (!lease && result.arrived.length === 0) {
    state.givenBack = [...(state.givenBack ?? []), result.leaseId].slice(-givenBackKept);
  }
  if (result.throttled) {
    const others = slotsBut(state, arrivals.at(-1));
    throttle(state, probablyHeldUntil(others)[0], result.throttled.retryAfterMs);
    // A refusal that is told twice, or that late, says nothing about who uses the window now.
    if (lease) state.strangers = sighted(state.strangers, refusalIn(others));
  }
  if (result.unauthorized) refuseKey(state, lease !== undefined && before.probe === lease.id);
  else if (result.accepted) state.refusedKey = null;
  return state;
}

/** Takes over settings; a smaller limit binds from now on, for slots already held too. */
export function configure(before: WindowState, settings: WindowSettings, at: number): WindowState {
  return { ...advance(before, at), settings };
}

/** Sets limit or reserve for a while, or ends that with null. */
export function overrideWith(before: WindowState, override: BudgetOverride | null, at: number): WindowState {
  return advance({ ...before, override }, at);
}

/** Stops granting until `until`, or until resumed when that is null. Null as `pause` resumes. */
export function pauseWith(before: WindowState, pause: { until: number | null } | null, at: number): WindowState {
  const state = advance(before, at);
  return advance({ ...state, paused: pause && { since: state.paused?.since ?? state.now, until: pause.until } }, at);
}

/** The key may have been changed: it is tried as soon as somebody asks. */
export function retryKey(before: WindowState, at: number): WindowState {
  const state = advance(before, at);
  return { ...state, refusedKey: state.refusedKey && { ...state.refusedKey, nextTryAt: state.now } };
}

/** Waiters that could come back at least a second before the time they were told, with the new time. */
export function earlierThanTold(before: WindowState, at: number): { state: WindowState; holders: string[] } {
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
    // What is left over is not worth a wake-up for a better guess.
    if (expectedAt > waiter.expectedAt - minWaitMs || (isSpare && expectedAt > state.now)) return waiter;
    holders.push(waiter.holder);
    return { ...waiter, expectedAt };
  });
  return { state, holders };
}

/**
 * When waiters may get permits without a message: one of several loses its place or rises, a person's setting ends, or
 * strangers are believed gone. Null when nobody waits or nothing such is due. Who waits for what is left over can come
 * when told.
 */
export function nextChange(state: WindowState): number | null {
  const waiters = state.waiters.filter((waiter) => waiter.class !== 'verify');
  if (waiters.length === 0) return null;
  const turns =
    waiters.length < 2
      ? []
      : waiters.flatMap((waiter) => [waiter.expectedAt + comeBackGraceMs, risesAt(waiter, rulesOf(state))]);
  const moments = [...turns, state.override?.until ?? null, nextForgotten(state.strangers, state.settings.windowMs)];
  const due = moments.filter((moment) => moment !== null);
  return due.length === 0 ? null : Math.min(...due);
}

/** The forecast of a holder or waiter, from what everybody wants now. */
export function forecastFor(state: WindowState, holder: Waiter | Lease): Forecast | null {
  const slots = {
    now: state.now,
    notBefore: blockedBy(state, null)?.until ?? state.now,
    windowMs: holdMs(state),
    capacity: capacityOf(state),
    releases: probablyHeldUntil(state),
  };
  return forecastOf(demandOf(holder), [...state.waiters, ...active(state)].map(demandOf), slots, rulesOf(state));
}

function rulesOf(state: WindowState): QueueRules {
  return { now: state.now, promotionMs: state.settings.windowMs, served: state.served };
}

/** The asker as a waiter; one that waits already keeps its place. */
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

/** How many permits a claim can be granted at most, by who else is there. */
function permitsFor(state: WindowState, claim: Waiter): number {
  if (state.probe === probeDue || claim.class === 'verify') return 1;
  const others = [...state.waiters, ...active(state)].some(
    (other) => other.holder !== claim.holder && other.class !== 'verify',
  );
  // A limit below a lease's size must not be given away whole to one holder, or a crash would forfeit a whole window.
  return Math.min(claim.wants, others ? leaseShared : leaseAlone, Math.max(1, Math.ceil(capacityOf(state) / 2)));
}

/** When an asker can expect a permit for whom `kept` slots go to others first. */
function expectedFor(state: WindowState, kept: number): number {
  return freeMoments(state, probablyHeldUntil(state), kept, 1)[0] ?? state.now + state.settings.windowMs;
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

function settle(state: WindowState, lease: Lease, { arrived, accepted, throttled }: LeaseReport): number[] {
  state.leases = state.leases.filter((candidate) => candidate !== lease);
  const used = arrived.slice(0, lease.notBefore.length);
  // A stopped process may have written long after its lease: then it tells of an arrival after `arrivesBy`.
  const latest = state.now + lease.arrivesBy - lease.useBy;
  const arrivals = used.map((moment, i) => Math.min(latest, Math.max(moment, lease.notBefore[i] ?? moment)));
  state.spent = [...state.spent, ...arrivals].sort(ascending);
  // The service may not have counted the one it refused.
  const counted = throttled ? arrivals.slice(0, -1) : arrivals;
  state.strangers = corrected(state.strangers, counted, state.settings.windowMs);
  if (state.probe === lease.id) state.probe = accepted ? null : probeDue;
  return arrivals;
}

/** The refused request's own slot says nothing about when the service has room again, or how much is ours. */
function slotsBut(state: WindowState, refused: number | undefined): WindowState {
  const index = refused === undefined ? -1 : state.spent.indexOf(refused);
  return { ...state, spent: state.spent.filter((_, i) => i !== index) };
}

const refusalIn = (state: WindowState) => ({
  at: state.now,
  limit: limitOf(state),
  own: state.spent,
  windowMs: state.settings.windowMs,
});

const demandOf = (wanting: Waiter | Lease): Demand => ({
  ...wanting,
  wants: 1,
  granted: 'notBefore' in wanting ? wanting.notBefore.length : 0,
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
