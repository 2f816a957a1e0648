/** What the budget remembers of holders and turns, even of some that have left: an older attempt may still wake up. */

import { turnOf } from './waiter-order.ts';
import type { Attempt, Turn, WindowState } from './window-state.ts';

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
