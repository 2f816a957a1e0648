/**
 * An organization's sliding window of analytics requests, as a state machine without a clock (B1 to B4).
 *
 * A permit is granted only for a moment at which fewer slots than the limit are occupied. In any interval of the window's
 * length, all requests that arrived in it occupy their slots together at the last arrival, so they are never more than
 * the limit.
 *
 * This file changes the window; grant-or-wait.ts answers questions and wakes waiters that can be served earlier than the
 * budget had said, and window-state.ts reads what a 429 or 401 means. All moments are milliseconds of the budget
 * workflow's clock; functions return a new state and never throw.
 */

import type { BudgetOverride, LeaseReport, PermitAsk, ProgramView, WindowSettings } from './permits.ts';
import { leaseMs } from './permits.ts';
import {
  type Attempt,
  addRefusal,
  correctSightings,
  type LeaseState,
  max,
  occupancyMs,
  type ProgramUse,
  placeKeptMs,
  probeDue,
  recentSightings,
  refuseKey,
  requestsOfOthers,
  type Turn,
  throttle,
  turnOf,
  type WindowState,
  wantCheck,
  writtenBefore,
} from './window-state.ts';

/** A message of workers with this store; undefined for one that does not say. */
type Installation = string | undefined;

/** Whether it comes from another installation than the one that used the budget within a window (decision 10). */
export function isForeign({ settings, ownSeenAt }: WindowState, installation: Installation, at: number): boolean {
  const own = settings.installation;
  if (own === undefined || installation === undefined || own === installation) return false;
  return ownSeenAt !== null && ownSeenAt + settings.windowMs > at;
}

/** When the budget's own installation was last heard of, after a message. */
export function ownSeenAfter({ settings, ownSeenAt, now }: WindowState, installation: Installation): number | null {
  return installation !== undefined && installation === settings.installation ? now : ownSeenAt;
}

export const foreignText =
  'the budget is in use by another installation with this organization id, whose workers have another feedback store: ' +
  'give each installation a namespace, or wait one window after the last request of the other';

/*
 * Arithmetic of slots. A permit occupies a slot from its grant until one window after its request arrived: a request
 * reported finished at `f` until `f + window`, one not reported until `arrivesBy + window`.
 */

/** Requests an organization may make in one window now: as set by hand, or as configured. */
export const limitOf = (state: WindowState): number => state.override?.requests ?? state.settings.requests;

/** Requests left to other clients now: the reserve, or their observed use if that is more. */
export function reserveOf(state: WindowState): number {
  const reserve = state.override?.reserve ?? state.settings.reserve;
  return Math.max(reserve, requestsOfOthers(state.sightings, limitOf(state)) ?? 0);
}

/** Requests of ours allowed in any window: the limit less what is left to other clients, at least one. */
export const capacityOf = (state: WindowState): number => Math.max(1, limitOf(state) - reserveOf(state));

/** The latest moment at which each occupied slot comes free, ascending: what B1 rests on. */
export function latestReleases(state: WindowState): number[] {
  return releases(state, () => true);
}

/** Slots occupied now. Permits granted for a later moment use slots that will be free by then. */
export function occupiedNow(state: WindowState): number {
  let count = state.spent.length;
  for (const { notBefore } of state.leases) {
    for (const moment of notBefore) if (moment <= state.now) count += 1;
  }
  return count;
}

/** Like `latestReleases`, but expects leases in use to be reported soon: good for telling waiters when to come back. */
export function expectedReleases(state: WindowState): number[] {
  return releases(state, ({ useBy }) => useBy <= state.now);
}

function releases(state: WindowState, unreported: (lease: { useBy: number }) => boolean): number[] {
  const leased: number[] = [];
  for (const lease of state.leases) {
    const isUnreported = unreported(lease);
    for (const moment of lease.notBefore) leased.push(isUnreported ? lease.arrivesBy : moment);
  }
  return merged(state.spent, sorted(leased), occupancyMs(state));
}

/** Leases are granted one after the other, so most often they are in order already. */
function sorted(moments: number[]): number[] {
  for (let i = 1; i < moments.length; i += 1) {
    if ((moments[i - 1] ?? 0) > (moments[i] ?? 0)) return moments.sort(ascending);
  }
  return moments;
}

/** Both ascending lists in one, each moment `later` than it was. */
function merged(a: readonly number[], b: readonly number[], later: number): number[] {
  const all: number[] = [];
  let fromB = 0;
  for (const moment of a) {
    for (let next = b[fromB]; next !== undefined && next < moment; next = b[fromB]) {
      all.push(next + later);
      fromB += 1;
    }
    all.push(moment + later);
  }
  for (; fromB < b.length; fromB += 1) all.push((b[fromB] ?? 0) + later);
  return all;
}

/** When the next permits can be used if `skip` slots are kept for others, ascending; at most the occupied ones. */
export function freeMoments(state: WindowState, occupied: readonly number[], skip: number, count: number): number[] {
  const first = occupied.length - capacityOf(state) + skip;
  return Array.from({ length: count }, (_, i) => first + i)
    .filter((index) => index < occupied.length)
    .map((index) => occupied[index] ?? state.now);
}

const ascending = (a: number, b: number): number => a - b;

/*
 * Programs that ask through the gateway: each may hold its share of the limit, by the slots it occupies, however often
 * the gateway restarts and however many there are (B6). They are no workflows: nothing can wake them.
 */

/** Notes what a program says of its share; nothing for a pass. */
export function noteProgram(state: WindowState, { holder, program }: PermitAsk): void {
  if (program === undefined) return;
  state.programs = {
    ...state.programs,
    [holder]: { share: program.share, spent: programOf(state, holder)?.spent ?? [] },
  };
}

/** How many more slots the holder may have, Infinity for a pass, and when it may have one. */
export function roomOf(state: WindowState, holder: string): { permits: number; from: number } {
  const program = programOf(state, holder);
  if (program === null || program.share === null) return { permits: Number.POSITIVE_INFINITY, from: state.now };
  const releases = releasesOf(state, holder, program);
  const most = Math.max(1, Math.floor((limitOf(state) * program.share) / 100));
  return { permits: Math.max(0, most - releases.length), from: releases[releases.length - most] ?? state.now };
}

/** Adds requests that have arrived to what their program holds. */
function chargeProgram(state: WindowState, holder: string, arrivals: readonly number[]): void {
  const program = programOf(state, holder);
  if (program === null) return;
  state.programs = { ...state.programs, [holder]: { ...program, spent: withArrivals(program.spent, arrivals) } };
}

/** Programs that still hold slots, have a lease or wait. */
function presentPrograms(
  programs: WindowState['programs'],
  { leases, waiters }: Pick<WindowState, 'leases' | 'waiters'>,
  isOccupied: (moment: number) => boolean,
): WindowState['programs'] {
  if (Object.keys(programs).length === 0) return programs;
  const present = new Set([...leases, ...waiters].map(({ holder }) => holder));
  const kept = Object.entries(programs).map(
    ([holder, use]) => [holder, { ...use, spent: use.spent.filter(isOccupied) }] as const,
  );
  return Object.fromEntries(kept.filter(([holder, { spent }]) => spent.length > 0 || present.has(holder)));
}

export const isProgram = (state: WindowState, holder: string): boolean => programOf(state, holder) !== null;

/** Programs as `budget show` prints them. */
export function programViews(state: WindowState): ProgramView[] {
  return Object.entries(state.programs).map(([holder, program]) => ({
    workflowId: holder,
    used: releasesOf(state, holder, program).length,
    share: program.share,
  }));
}

function programOf({ programs }: WindowState, holder: string): ProgramUse | null {
  return Object.hasOwn(programs, holder) ? (programs[holder] ?? null) : null;
}

/** When each slot of the program is expected to come free, ascending. */
function releasesOf(state: WindowState, holder: string, { spent }: ProgramUse): number[] {
  return expectedReleases({ ...state, spent, leases: state.leases.filter((lease) => lease.holder === holder) });
}

/* What the budget remembers of holders and turns, even of some that have left: an older attempt may still wake up. */

/** How many holders, and turns of holders, are remembered after they left. */
const departedKept = 20;
/** These lists are cleared when twice as many could have left: clearing looks at everybody. */
const clearedFrom = 2 * departedKept;

/** When the server scheduled the latest attempt seen of a holder; 0 for an unknown one. */
export const attemptOf = ({ attempts }: WindowState, holder: string): number =>
  attempts.find((attempt) => attempt.holder === holder)?.at ?? 0;

/** The attempts with a holder's latest one. */
export function withAttempt({ attempts }: WindowState, attempt: Attempt): Attempt[] {
  const known = attempts.findIndex(({ holder }) => holder === attempt.holder);
  return known < 0 ? [...attempts, attempt] : attempts.with(known, attempt);
}

/** The turns with the latest one. */
export function withTurn({ served }: WindowState, turn: Turn): Turn[] {
  const known = served.findIndex((other) => other.turn === turn.turn);
  return known < 0 ? [...served, turn] : served.with(known, turn);
}

type Present = Pick<WindowState, 'leases' | 'waiters'>;

/** Attempts of those present, and the latest of those that left; all of them while `spare` of these may have. */
export function recentAttempts(attempts: Attempt[], { leases, waiters }: Present, spare = clearedFrom): Attempt[] {
  if (attempts.length < leases.length + waiters.length + spare) return attempts;
  const present = new Set([...leases, ...waiters].map(({ holder }) => holder));
  return recent(attempts, ({ holder }) => present.has(holder));
}

/** Like `recentAttempts`, for turns. */
export function recentTurns(served: Turn[], { leases, waiters }: Present, spare = clearedFrom): Turn[] {
  if (served.length < leases.length + waiters.length + spare) return served;
  const present = new Set([...leases, ...waiters].map(turnOf));
  return recent(served, ({ turn }) => present.has(turn));
}

function recent<T extends { at: number }>(all: readonly T[], isPresent: (item: T) => boolean): T[] {
  const left = all.filter((item) => !isPresent(item)).sort((a, b) => b.at - a.at);
  return [...all.filter(isPresent), ...left.slice(0, departedKept)];
}

/** Whether the clock was ahead by so much that waiting for it would take longer than a full window. */
export const wasAhead = ({ now, settings }: WindowState, at: number): boolean =>
  now - at > settings.windowMs + leaseMs + settings.arrivalMs;

/** Slots whose time has passed are free, and waiters long overdue are gone. Unchanged lists are shared. */
export function advance(before: WindowState, at: number): WindowState {
  const now = max(before.now, at);
  const { windowMs } = before.settings;
  const occupied = occupancyMs(before);
  const isOccupied = (moment: number) => moment + occupied > now;
  const past = (until: number | null | undefined) => until !== null && until !== undefined && until <= now;
  const leases = kept(before.leases, (lease) => isOccupied(lease.arrivesBy));
  const waiters = kept(before.waiters, (waiter) => waiter.expectedAt + placeKeptMs > now);
  return {
    ...before,
    now,
    override: past(before.override?.until) ? null : before.override,
    spent: keptFrom(before.spent, isOccupied),
    unknownUntil: latestReleased(before, isOccupied),
    leases,
    waiters,
    attempts: recentAttempts(before.attempts, { leases, waiters }),
    served: recentTurns(before.served, { leases, waiters }),
    // Nobody wants anything: the next wait is another one.
    refreshWaits: waiters.length === 0 && leases.every(({ useBy }) => useBy <= now) ? null : before.refreshWaits,
    throttledUntil: past(before.throttledUntil) ? null : before.throttledUntil,
    paused: past(before.paused?.until) ? null : before.paused,
    probe: isProbeLost(before, now) ? probeDue : before.probe,
    programs: presentPrograms(before.programs, { leases, waiters }, isOccupied),
    throttles: kept(before.throttles, (moment) => moment + windowMs > now),
    sightings: recentSightings(before.sightings, now, windowMs),
  };
}

/** The items that stay: the same list when all do. */
function kept<T>(list: T[], stays: (item: T) => boolean): T[] {
  return list.every(stays) ? list : list.filter(stays);
}

/** Like `kept`, for ascending moments: the later ones stay. */
function keptFrom(moments: number[], stays: (moment: number) => boolean): number[] {
  const first = moments.findIndex(stays);
  if (first < 0) return [];
  return first === 0 ? moments : moments.slice(first);
}

function isProbeLost({ probe, leases }: WindowState, now: number): boolean {
  if (probe === null || probe === probeDue) return false;
  const probing = leases.find((lease) => lease.id === probe);
  return probing === undefined || probing.useBy <= now;
}

/** Latest arrival whose slot is free again. */
function latestReleased(state: WindowState, isOccupied: (moment: number) => boolean): number | null {
  let latest = state.unknownUntil;
  const release = (moment: number) => {
    if (!isOccupied(moment)) latest = max(latest ?? 0, moment);
  };
  for (const moment of state.spent) {
    if (isOccupied(moment)) break;
    release(moment);
  }
  for (const { arrivesBy } of state.leases) release(arrivesBy);
  return latest;
}

/** Ids of returned questions that are remembered: more than a client returns while no worker answers. */
const returnedKept = 200;

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
  else if (lease && result.accepted) state.refusedKey = null;
  if (result.doubted) state.keyChecks = wantCheck(state.keyChecks, state.refusedKey, state.now);
  return state;
}

/** The check of the key that was due has been started. */
export function keyCheckStarted(state: WindowState): WindowState {
  return { ...state, keyChecks: { startedAt: state.now, due: false } };
}

/** Takes over settings unless those in force are newer (decisions/0009); a smaller limit binds at once. */
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

/** Pauses until `pause.until`, or until a person resumes if that is null. A null `pause` resumes. */
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

function closeLease(state: WindowState, lease: LeaseState, result: LeaseReport): number[] {
  const { arrived, accepted, throttled, doubted } = result;
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
  // A path that is always answered 401 would take every probe: the window had room for it, and that ends the probing.
  if (state.probe === lease.id) state.probe = accepted || (doubted && !throttled) ? null : probeDue;
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
