/**
 * An organization's sliding window of analytics requests, as a state machine without a clock (DESIGN B1 to B3).
 *
 * A *slot* is held from the grant of a permit until one window after the request's arrival at the latest:
 * - reported finished at `f`: until `f + window`, since a request arrives before it is finished;
 * - not reported: until `useBy + arrival + window`, since the holder checks `useBy` immediately before it sends and a
 *   request takes at most `arrival` from that check to the service.
 * A permit is granted only for a moment at which fewer slots than the limit are held. So for any interval of the
 * window's length, the slots of all requests that arrived in it are held together at its last arrival, and there are
 * never more of them than the limit.
 *
 * All moments are milliseconds of the budget workflow's clock; functions return a new state and never throw.
 */

import {
  type LeaseReport,
  maxLease,
  type PermitAnswer,
  type PermitAsk,
  type PermitClass,
  type WindowSettings,
  type WindowView,
} from './permits.ts';

export interface Lease {
  /** The request id of the ask it answers: the same ask gets the same lease. */
  id: string;
  holder: string;
  class: PermitClass;
  grantedAt: number;
  /** No request may be sent at or after this moment. */
  useBy: number;
  /** Earliest moment of use, one a permit, ascending. */
  notBefore: number[];
}

export interface Waiter {
  holder: string;
  class: PermitClass;
  since: number;
  /** When it was told to come back; it keeps its place for `comeBackGraceMs` longer. */
  expectedAt: number;
}

export interface WindowState {
  settings: WindowSettings;
  /** Greatest moment seen: time never runs backwards here. */
  now: number;
  /** Moments by which reported requests had arrived, ascending; each holds its slot for one window. */
  spent: number[];
  leases: Lease[];
  /** First come, first served. */
  waiters: Waiter[];
  /** Latest attempt seen of each holder, by the time the server scheduled it. */
  attempts: Record<string, number>;
  pausedUntil: number | null;
  /** After a refusal by the service one request goes first: `due`, or the id of the lease that probes. */
  probe: string | null;
  /** Moments at which the service answered 429. */
  throttles: number[];
}

/** Pages a lease has when nobody else wants any. */
const leaseAlone = 10;
/** Pages a lease has at most when others hold or want permits. */
const leaseShared = 5;
/** Permits that come free within this time are granted at once with a moment to wait for, inside the activity. */
export const horizonMs = 1_500;
/** Time a lease can be used in; what is left of it then is returned. */
export const leaseMs = 15_000;
/** Clocks round and drift: a slot is held this much longer, a ten-thousandth of the window but at least 20 ms. */
export const slackOf = (windowMs: number): number => Math.max(20, Math.ceil(windowMs / 10_000));
/** How long after its time a waiter keeps its place: a worker may have died. */
const comeBackGraceMs = 5_000;
/** Shortest time a refused asker is told to stay away: below a second server timers take a second anyway. */
const minWaitMs = 1_000;
/** Holders that left whose latest attempt is still known. */
const attemptsKept = 20;
const probeDue = 'due';
const longestOverWindowMs = 60_000;

export function emptyWindow(settings: WindowSettings, now: number): WindowState {
  return {
    settings,
    now,
    spent: [],
    leases: [],
    waiters: [],
    attempts: {},
    pausedUntil: null,
    probe: null,
    throttles: [],
  };
}

/** Requests of ours that may be in any window: the limit less the reserve, at least one. */
export function capacityOf(settings: WindowSettings): number {
  return Math.max(1, settings.requests - settings.reserve);
}

/** Answers a question for permits. Never blocks: grants, or says when to come back. */
export function ask(before: WindowState, question: PermitAsk, at: number): [WindowState, PermitAnswer] {
  const state = advance(before, at);
  const repeated = state.leases.find((lease) => lease.id === question.id);
  if (repeated) return [state, granted(repeated, state.settings)];
  if (question.attemptAt < (state.attempts[question.holder] ?? 0)) return [state, { kind: 'superseded' }];
  state.attempts[question.holder] = question.attemptAt;

  const ahead = waitersAhead(state, question.holder);
  const blockedUntil = blockedBy(state);
  if (blockedUntil !== null) return refuse(state, question, ahead, blockedUntil);

  const free = freeMoments(state, heldUntil(state), ahead.length, permitsFor(state, question));
  const usable = free.filter((moment) => moment <= state.now + horizonMs);
  if (usable.length === 0) return refuse(state, question, ahead, estimate(state, ahead.length));

  const fair = Math.ceil(usable.length / (1 + otherWaiters(state, question.holder)));
  const lease: Lease = {
    id: question.id,
    holder: question.holder,
    class: question.class,
    grantedAt: state.now,
    useBy: state.now + leaseMs,
    notBefore: usable.slice(0, fair),
  };
  state.leases.push(lease);
  state.waiters = state.waiters.filter((waiter) => waiter.holder !== question.holder);
  if (state.probe === probeDue) state.probe = lease.id;
  return [state, granted(lease, state.settings)];
}

/**
 * Takes in what became of a lease: used permits hold their slots for one window from now on, unused ones come back.
 * A report of an unknown lease (repeated, or so late that its slots are free) changes nothing but a throttle.
 */
export function report(before: WindowState, result: LeaseReport, at: number): WindowState {
  const state = advance(before, at);
  const lease = state.leases.find((candidate) => candidate.id === result.leaseId);
  // Without the refused request's own slot, which says nothing about when the service has room again.
  const oldestBefore = lease
    ? heldUntil({ ...state, leases: state.leases.filter((other) => other !== lease) })[0]
    : undefined;
  if (lease) {
    state.leases = state.leases.filter((candidate) => candidate !== lease);
    const latest = lease.useBy + state.settings.arrivalMs;
    const used = result.arrived.slice(0, lease.notBefore.length);
    const arrivals = used.map((moment, i) => Math.min(latest, Math.max(moment, lease.notBefore[i] ?? moment)));
    state.spent = [...state.spent, ...arrivals].sort(ascending);
    if (state.probe === lease.id) state.probe = used.length > 0 ? null : probeDue;
  }
  if (result.throttled) throttle(state, oldestBefore, result.throttled.retryAfterMs);
  return state;
}

/** Takes over settings; a smaller limit binds from now on, for slots already held too. */
export function configure(before: WindowState, settings: WindowSettings, at: number): WindowState {
  return { ...advance(before, at), settings };
}

/** Waiters that could come back at least a second before the time they were told, with the new time. */
export function earlierThanTold(before: WindowState, at: number): { state: WindowState; holders: string[] } {
  const state = advance(before, at);
  const blocked = blockedBy(state);
  const holders: string[] = [];
  state.waiters = state.waiters.map((waiter, place) => {
    const expectedAt = Math.max(estimate(state, place), blocked ?? 0);
    if (expectedAt > waiter.expectedAt - minWaitMs) return waiter;
    holders.push(waiter.holder);
    return { ...waiter, expectedAt };
  });
  return { state, holders };
}

/** When the first of several waiters loses its place, so that those behind can be told; null when nobody is behind. */
export function firstLapse(state: WindowState): number | null {
  if (state.waiters.length < 2) return null;
  return Math.min(...state.waiters.map((waiter) => waiter.expectedAt)) + comeBackGraceMs;
}

export function viewOf(before: WindowState, at: number): WindowView {
  const state = advance(before, at);
  const held = heldUntil(state);
  const next = freeMoments(state, held, 0, 1)[0];
  return {
    limit: state.settings.requests,
    reserve: state.settings.reserve,
    windowMs: state.settings.windowMs,
    used: held.length,
    available: blockedBy(state) === null ? Math.max(0, capacityOf(state.settings) - held.length) : 0,
    pausedUntil: state.pausedUntil,
    nextFreeAt: next === undefined || next <= state.now ? null : next,
    holders: state.leases
      .filter((lease) => lease.useBy > state.now)
      .map((lease) => ({ workflowId: lease.holder, permits: lease.notBefore.length, since: lease.grantedAt })),
    waiters: state.waiters.map(({ holder, ...waiter }) => ({ workflowId: holder, ...waiter })),
    throttledInWindow: state.throttles.length,
  };
}

/** The state at `at`: slots whose time has passed are free, waiters who did not come back have lost their place. */
function advance(before: WindowState, at: number): WindowState {
  const now = Math.max(before.now, at);
  const { windowMs, arrivalMs } = before.settings;
  const leases = before.leases.filter((lease) => lease.useBy + arrivalMs + windowMs + slackOf(windowMs) > now);
  const waiters = before.waiters.filter((waiter) => waiter.expectedAt + comeBackGraceMs > now);
  const probing = before.leases.find((lease) => lease.id === before.probe);
  const probeLost = before.probe !== null && (probing === undefined || probing.useBy <= now);
  const present = new Set([...leases.map((lease) => lease.holder), ...waiters.map((waiter) => waiter.holder)]);
  return {
    ...before,
    now,
    spent: before.spent.filter((moment) => moment + windowMs + slackOf(windowMs) > now),
    leases,
    waiters,
    attempts: recentAttempts(before.attempts, present),
    pausedUntil: before.pausedUntil !== null && before.pausedUntil > now ? before.pausedUntil : null,
    probe: probeLost ? probeDue : before.probe,
    throttles: before.throttles.filter((moment) => moment + windowMs > now),
  };
}

/** Attempts of holders that are here, and the latest of those that left: an older attempt may still wake up. */
function recentAttempts(attempts: Record<string, number>, present: ReadonlySet<string>): Record<string, number> {
  const left = Object.entries(attempts).filter(([holder]) => !present.has(holder));
  const latest = left.sort((a, b) => b[1] - a[1]).slice(0, attemptsKept);
  return Object.fromEntries([...Object.entries(attempts).filter(([holder]) => present.has(holder)), ...latest]);
}

/** Until when each held slot is held at most, ascending. */
function heldUntil(state: WindowState): number[] {
  const { windowMs, arrivalMs } = state.settings;
  const unreported = state.leases.flatMap((lease) => lease.notBefore.map(() => lease.useBy + arrivalMs));
  return [...state.spent, ...unreported].map((moment) => moment + windowMs + slackOf(windowMs)).sort(ascending);
}

/** As `heldUntil`, but leases in use are expected to be reported soon: good for telling when to come back. */
function probablyHeldUntil(state: WindowState): number[] {
  const { windowMs, arrivalMs } = state.settings;
  const unreported = state.leases.flatMap((lease) =>
    lease.notBefore.map((moment) => (lease.useBy > state.now ? moment : lease.useBy + arrivalMs)),
  );
  return [...state.spent, ...unreported].map((moment) => moment + windowMs + slackOf(windowMs)).sort(ascending);
}

/** The moments at which the next `count` permits can be used when `skip` others go first, ascending. */
function freeMoments(state: WindowState, held: readonly number[], skip: number, count: number): number[] {
  const first = held.length - capacityOf(state.settings) + skip;
  return Array.from({ length: count }, (_, i) => first + i)
    .filter((index) => index < held.length)
    .map((index) => (index < 0 ? state.now : (held[index] ?? state.now)));
}

/** How many permits a question can be granted at most, by who else is there. */
function permitsFor(state: WindowState, question: PermitAsk): number {
  const wants = Math.min(maxLease, Math.max(1, Math.floor(question.wants)));
  if (state.probe === probeDue) return 1;
  const othersHold = state.leases.some((lease) => lease.holder !== question.holder && lease.useBy > state.now);
  const share = othersHold || otherWaiters(state, question.holder) > 0 ? leaseShared : leaseAlone;
  // A limit below a lease's size must not be given away whole to one holder, or a crash would forfeit a whole window.
  return Math.min(wants, share, Math.max(1, Math.ceil(capacityOf(state.settings) / 2)));
}

function otherWaiters(state: WindowState, holder: string): number {
  return state.waiters.filter((waiter) => waiter.holder !== holder).length;
}

/** Holders that go before this one, first come first. */
function waitersAhead(state: WindowState, holder: string): string[] {
  const own = state.waiters.findIndex((waiter) => waiter.holder === holder);
  return (own < 0 ? state.waiters : state.waiters.slice(0, own)).map((waiter) => waiter.holder);
}

/** The moment before which nobody may send, or null. */
function blockedBy(state: WindowState): number | null {
  if (state.pausedUntil !== null) return state.pausedUntil;
  if (state.probe !== null && state.probe !== probeDue) return state.now + minWaitMs;
  return null;
}

/** When the asker at `place` in the queue can expect a permit. */
function estimate(state: WindowState, place: number): number {
  return freeMoments(state, probablyHeldUntil(state), place, 1)[0] ?? state.now + state.settings.windowMs;
}

function refuse(
  state: WindowState,
  question: PermitAsk,
  ahead: string[],
  expected: number,
): [WindowState, PermitAnswer] {
  const waitUntil = Math.max(expected, state.now + minWaitMs);
  const place = ahead.length + 1;
  const answer: PermitAnswer = { kind: 'wait', now: state.now, waitUntil, place, behind: ahead.slice(0, 5) };
  if (question.mayWait === false) return [state, answer];
  const known = state.waiters.some((waiter) => waiter.holder === question.holder);
  state.waiters = known
    ? state.waiters.map((waiter) => (waiter.holder === question.holder ? { ...waiter, expectedAt: waitUntil } : waiter))
    : [...state.waiters, { holder: question.holder, class: question.class, since: state.now, expectedAt: waitUntil }];
  return [state, answer];
}

/**
 * A 429 means the window is full: wait as told or for the oldest slot of our own, whichever is later, then probe. What
 * is told is believed up to a little more than a window; without a word and a slot, a twentieth of the window.
 */
function throttle(state: WindowState, oldest: number | undefined, retryAfterMs: number | null): void {
  const { windowMs } = state.settings;
  const unsaid = oldest === undefined ? windowMs / 20 : 0;
  const told = Math.min(windowMs + longestOverWindowMs, Math.max(minWaitMs, retryAfterMs ?? unsaid));
  state.pausedUntil = Math.max(state.pausedUntil ?? 0, state.now + told, oldest ?? 0);
  state.probe = probeDue;
  state.throttles.push(state.now);
}

const granted = (lease: Lease, settings: WindowSettings): PermitAnswer => ({
  kind: 'granted',
  leaseId: lease.id,
  grantedAt: lease.grantedAt,
  useBy: lease.useBy,
  notBefore: lease.notBefore,
  arrivalMs: settings.arrivalMs,
});

const ascending = (a: number, b: number): number => a - b;
