/**
 * The window as a run hands it to the next, and `budget move` to another task queue. The server refuses inputs of 2 MiB,
 * so that it holds nothing twice, and of each waiter and lapsed lease a row of values without their names.
 */

import { leaseMs } from './permits.ts';
import { recentAttempts, recentTurns } from './remembered.ts';
import { turnOf, type Waiter } from './waiter-order.ts';
import type { CarriedWindow, LapsedLease, Lease, Turn, WaiterRow, WindowState } from './window-state.ts';

export function packed(state: WindowState): CarriedWindow {
  const inUse = state.leases.filter(({ useBy }) => useBy > state.now);
  const lapsed = state.leases.filter(({ useBy }) => useBy <= state.now);
  const present = { leases: inUse, waiters: state.waiters };
  const attempts = new Map(recentAttempts(state.attempts, present, 0).map(({ holder, at }) => [holder, at]));
  const row = (waiter: Waiter) => rowOf(waiter, attempts.get(waiter.holder));
  const waiting = new Set(state.waiters.map(({ holder }) => holder));
  const turns = new Set(turnsOf(state.waiters).map(({ turn }) => turn));
  return {
    ...state,
    leases: inUse,
    lapsed: lapsed.map(lapsedOf),
    waiters: [],
    rows: state.waiters.map(row),
    attempts: [...attempts].filter(([holder]) => !waiting.has(holder)).map(([holder, at]) => ({ holder, at })),
    served: recentTurns(state.served, present, 0).filter(({ turn }) => !turns.has(turn)),
  };
}

export function unpacked({ lapsed = [], rows = [], attempts, served, ...state }: CarriedWindow): WindowState {
  const waiters = rows.map(waiterOf);
  return {
    ...state,
    leases: [...lapsed.map(leaseOf), ...state.leases],
    waiters: [...state.waiters, ...waiters],
    attempts: [
      ...entriesOf(attempts, (holder, at) => ({ holder, at })),
      ...rows.flatMap(([holder, at]) => (at === null ? [] : [{ holder, at }])),
    ],
    served: [...entriesOf(served, (turn, at) => ({ turn, at })), ...turnsOf(waiters)],
  };
}

const entriesOf = <Item>(carried: Item[] | Record<string, number>, item: (name: string, at: number) => Item): Item[] =>
  Array.isArray(carried) ? carried : Object.entries(carried).map(([name, at]) => item(name, at));

const rowOf = (waiter: Waiter, attemptAt: number | undefined): WaiterRow => [
  waiter.holder,
  attemptAt ?? null,
  waiter.project,
  waiter.class,
  waiter.wants,
  waiter.remaining,
  waiter.since,
  waiter.servedAt,
  waiter.expectedAt,
  waiter.leave ?? null,
];

const waiterOf = ([
  holder,
  ,
  project,
  kind,
  wants,
  remaining,
  since,
  servedAt,
  expectedAt,
  leave,
]: WaiterRow): Waiter => ({
  holder,
  project,
  class: kind,
  wants,
  remaining,
  since,
  servedAt,
  expectedAt,
  ...(leave === null ? {} : { leave }),
});

/** When the turns of waiters were last served, once each: their waiters know. */
function turnsOf(waiters: readonly Waiter[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const waiter of waiters) {
    const turn = turnOf(waiter);
    if (waiter.servedAt !== null) turns.set(turn, { turn, at: waiter.servedAt });
  }
  return [...turns.values()];
}

const lapsedOf = ({ id, useBy, arrivesBy, notBefore }: Lease): LapsedLease => [
  id,
  useBy,
  arrivesBy - useBy,
  ...notBefore.map((moment) => useBy - moment),
];

/** Forgets the owner: no view shows it. */
const leaseOf = ([id, useBy, arrivesWithin, ...before]: LapsedLease): Lease => ({
  id,
  holder: '',
  project: '',
  class: 'sweep',
  remaining: null,
  since: useBy - leaseMs,
  grantedAt: useBy - leaseMs,
  useBy,
  arrivesBy: useBy + arrivesWithin,
  notBefore: before.map((ms) => useBy - ms),
});
