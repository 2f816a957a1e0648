/**
 * An organization's sliding window of analytics requests, as a state machine without a clock (B1 to B4).
 *
 * A permit is granted only for a moment at which fewer slots than the limit are occupied (occupied-slots.ts). In any
 * interval of the window's length, all requests that arrived in it occupy their slots together at the last arrival, so
 * they are never more than the limit.
 *
 * This file has what changes the window; grant-lease.ts answers questions, wake-waiters.ts wakes the waiters that can
 * be served earlier than they were told. All moments are milliseconds of the budget workflow's clock; functions return
 * a new state and never throw.
 */

import { ownSeenAfter } from './installations.ts';
import { wantCheck } from './key-tries.ts';
import { addRefusal, correctSightings } from './other-clients.ts';
import type { BudgetOverride, LeaseReport, WindowSettings } from './permits.ts';
import { chargeProgram } from './program-shares.ts';
import { advance } from './advance-window.ts';
import { expectedReleases, limitOf } from './occupied-slots.ts';
import { refuseKey, throttle } from './window-blocks.ts';
import { type Lease, probeDue, type WindowState, writtenBefore } from './window-state.ts';

/** Ids of returned questions that are remembered. */
const returnedKept = 20;

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
  if (result.doubted) state.keyChecks = wantCheck(state.keyChecks, state.refusedKey, state.now);
  return state;
}

/** The check of the key that was due has been started. */
export function keyCheckStarted(state: WindowState): WindowState {
  return { ...state, keyChecks: { startedAt: state.now, due: false } };
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

/** Overrides limit or reserve; null ends that, and the precedence of settings that were dated later than docferry.yaml. */
export function setOverride(before: WindowState, override: BudgetOverride | null, at: number): WindowState {
  const { configuredAt: _claimed, ...undated } = before.settings;
  return advance({ ...before, override, settings: override === null ? undated : before.settings }, at);
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

/** A malformed signal arrived. */
export function ignore(before: WindowState, at: number): WindowState {
  return { ...advance(before, at), ignored: before.ignored + 1 };
}

function closeLease(state: WindowState, lease: Lease, { arrived, accepted, throttled }: LeaseReport): number[] {
  state.leases = state.leases.filter((candidate) => candidate !== lease);
  const used = arrived.slice(0, lease.notBefore.length);
  // A process that was stopped may have written long after its lease: its arrivals may be later than `arrivesBy`.
  const latest = state.now + lease.arrivesBy - lease.useBy;
  const arrivals = used.map((moment, i) => Math.min(latest, Math.max(moment, lease.notBefore[i] ?? moment)));
  state.spent = withArrivals(state.spent, arrivals);
  chargeProgram(state, lease.holder, arrivals);
  // The service may not have counted the request it refused.
  const counted = throttled ? arrivals.slice(0, -1) : arrivals;
  state.sightings = correctSightings(state.sightings, counted, state.settings.windowMs);
  if (state.probe === lease.id) state.probe = accepted ? null : probeDue;
  return arrivals;
}

/** Arrivals are among the latest, so that each finds its place from the end. */
function withArrivals(spent: readonly number[], arrivals: readonly number[]): number[] {
  const all = [...spent];
  for (const arrival of arrivals) all.splice(all.findLastIndex((moment) => moment <= arrival) + 1, 0, arrival);
  return all;
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
