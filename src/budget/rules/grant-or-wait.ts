/** How the budget answers a question for permits: which asker gets a lease, and with which moments (B1 to B4). */

import { forecastFor } from './forecast.ts';
import { leaseMs, maxLease, type PermitAnswer, type PermitAsk, type WaitReason } from './permits.ts';
import { blockedBy, wantCheck } from './refusals.ts';
import { horizonMs, servableAt } from './waiters.ts';
import {
  advance,
  attemptOf,
  capacityOf,
  freeMoments,
  latestReleases,
  noteProgram,
  ownSeenAfter,
  roomOf,
  withAttempt,
  withTurn,
} from './window.ts';
import {
  isAwaited,
  type LeaseState,
  minWaitMs,
  mostWaiters,
  placeOf,
  probeDue,
  type QueuePlace,
  rulesOf,
  turnOf,
  type Waiter,
  type WindowState,
} from './window-state.ts';

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
