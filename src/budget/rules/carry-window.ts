import { leaseMs, type WindowSettings } from './permits.ts';
import { advance, recentAttempts, recentTurns, wasAhead } from './window.ts';
import {
  type CarriedWindow,
  emptyWindow,
  type LapsedLease,
  type LeaseState,
  type ProgramUse,
  type Turn,
  turnOf,
  type Waiter,
  type WaiterRow,
  type WindowState,
} from './window-state.ts';

/*
 * The window as a run hands it to the next, and `budget move` to another task queue. The server refuses inputs of 2 MiB,
 * so that it holds nothing twice, and of each waiter and lapsed lease a row of values without their names.
 */

export function packed({ waiters, ...state }: WindowState): CarriedWindow {
  const inUse = state.leases.filter(({ useBy }) => useBy > state.now);
  const lapsed = state.leases.filter(({ useBy }) => useBy <= state.now);
  const present = { leases: inUse, waiters };
  const attempts = new Map(recentAttempts(state.attempts, present, 0).map(({ holder, at }) => [holder, at]));
  const row = (waiter: Waiter) => rowOf(waiter, attempts.get(waiter.holder));
  const waiting = new Set(waiters.map(({ holder }) => holder));
  const turns = new Set(turnsOf(waiters).map(({ turn }) => turn));
  return {
    ...state,
    leases: inUse,
    lapsed: lapsed.map(lapsedOf),
    programs: charged(state.programs, lapsed),
    rows: waiters.map(row),
    attempts: [...attempts].filter(([holder]) => !waiting.has(holder)).map(([holder, at]) => ({ holder, at })),
    served: recentTurns(state.served, present, 0).filter(({ turn }) => !turns.has(turn)),
  };
}

export function unpacked({ lapsed, rows, attempts, served, ...state }: CarriedWindow): WindowState {
  const waiters = rows.map(waiterOf);
  return {
    ...state,
    leases: [...lapsed.map(leaseOf), ...state.leases],
    waiters,
    attempts: [...attempts, ...rows.flatMap(([holder, at]) => (at === null ? [] : [{ holder, at }]))],
    served: [...served, ...turnsOf(waiters)],
  };
}

/** Charges programs for their lapsed leases, whose holder the rows do not name. */
function charged(programs: WindowState['programs'], lapsed: readonly LeaseState[]): WindowState['programs'] {
  const charge = ([holder, use]: [string, ProgramUse]) => {
    const own = lapsed.filter((lease) => lease.holder === holder);
    const arrivals = own.flatMap(({ notBefore, arrivesBy }) => notBefore.map(() => arrivesBy));
    return [holder, { ...use, spent: [...use.spent, ...arrivals].sort((a, b) => a - b) }] as const;
  };
  return Object.fromEntries(Object.entries(programs).map(charge));
}

function rowOf(waiter: Waiter, attemptAt: number | undefined): WaiterRow {
  const { holder, project, class: kind, wants, remaining, since, servedAt, expectedAt } = waiter;
  return [holder, attemptAt ?? null, project, kind, wants, remaining, since, servedAt, expectedAt];
}

function waiterOf(row: WaiterRow): Waiter {
  const [holder, , project, kind, wants, remaining, since, servedAt, expectedAt] = row;
  return { holder, project, class: kind, wants, remaining, since, servedAt, expectedAt };
}

/** When the turns of waiters were last served, once each: their waiters know. */
function turnsOf(waiters: readonly Waiter[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const waiter of waiters) {
    const turn = turnOf(waiter);
    if (waiter.servedAt !== null) turns.set(turn, { turn, at: waiter.servedAt });
  }
  return [...turns.values()];
}

const lapsedOf = ({ id, useBy, arrivesBy, notBefore }: LeaseState): LapsedLease => [
  id,
  useBy,
  arrivesBy - useBy,
  ...notBefore.map((moment) => useBy - moment),
];

/** Forgets the owner: no view shows it. */
const leaseOf = ([id, useBy, arrivesWithin, ...before]: LapsedLease): LeaseState => ({
  id,
  holder: '',
  project: '',
  class: 'refresh',
  remaining: null,
  since: useBy - leaseMs,
  grantedAt: useBy - leaseMs,
  useBy,
  arrivesBy: useBy + arrivesWithin,
  notBefore: before.map((ms) => useBy - ms),
});

/*
 * A budget that was moved, terminated or lost starts as if its window were full when there are signs of an earlier one
 * (B7): the earlier ledger knew what was sent, this one does not.
 */

/** What a store knows of a pass. */
export interface PassTrace {
  requests: number;
  /** Null while it runs. */
  finishedAt: string | null;
}

/** Stands for the start of the new ledger by its own clock: the earlier one may have granted until then. */
export const untilNow = 4_102_444_800_000;

/**
 * When an earlier ledger may last have granted permits, as far as a store's passes show, and when the store was restored:
 * requests sent between the backup and the restoration left no trace. Null when nothing shows a request.
 */
export function lastGrantOf(passes: readonly PassTrace[], restoredAt: Date | null = null): number | null {
  const ends = passes
    .filter(({ requests }) => requests > 0)
    .map(({ finishedAt }) => (finishedAt === null ? untilNow : Date.parse(finishedAt)));
  if (restoredAt !== null) ends.push(restoredAt.getTime());
  return ends.length === 0 ? null : Math.max(...ends);
}

/**
 * The window of a new ledger. The last permit of the earlier one, dated ahead or not, arrived within `leaseMs` and D
 * after its grant; what it occupies is unknown, so nothing is granted until one window later.
 */
export function windowAfter(settings: WindowSettings, earlierGrantAt: number | null, now: number): WindowState {
  const fresh = emptyWindow(settings, now);
  if (earlierGrantAt === null) return fresh;
  // Nothing was granted later than now, even if another clock says so.
  return { ...fresh, unknownUntil: Math.min(earlierGrantAt, now) + leaseMs + settings.arrivalMs };
}

/**
 * The window of a ledger that was set back, or whose clock was ahead: grants since may be unknown, or known with another
 * time. All were made before now, so it counts as full until one window later. What people asked for stays, and who waits.
 */
export function windowAfterReset(before: WindowState, at: number): WindowState {
  const state = advance(wasAhead(before, at) ? datedBack(before, at) : before, at);
  return { ...state, unknownUntil: state.now + leaseMs + state.settings.arrivalMs };
}

function datedBack({ now, ...before }: WindowState, at: number): WindowState {
  const { settings, ignored, override, paused, refusedKey } = before;
  const sooner = <Timed extends { until: number | null }>(timed: Timed | null): Timed | null =>
    timed && { ...timed, until: timed.until && at + timed.until - now };
  return {
    ...emptyWindow(settings, at),
    waiters: before.waiters.map((waiter) => ({ ...waiter, since: at, servedAt: null, expectedAt: at })),
    override: sooner(override),
    paused: sooner(paused),
    refusedKey: refusedKey && { ...refusedKey, nextTryAt: at },
    ignored,
  };
}

/**
 * Changes of a run of the small budget before it continues as new. The server refuses more than 2,000 updates a run; well
 * before that, the run must be short enough for another worker to replay it within the workflow task time-out.
 */
const mostChanges = 300;
const fewestChanges = 50;
/**
 * With so many waiters and slots a run is half as long. A run with a thousand of each, 100 changes, replayed in 1.1 s on a
 * busy machine (bench/results/budget-waiters.md), half of the time-out.
 */
const doubledBy = 1_000;

/** Changes that a run takes before it continues as new: fewer when each costs more. */
export function messagesPerRun({ waiters, spent, leases }: WindowState): number {
  const size = waiters.length + spent.length + leases.length;
  return Math.max(fewestChanges, Math.round(mostChanges / (1 + size / doubledBy)));
}
