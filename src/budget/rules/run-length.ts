import type { WindowState } from './window-state.ts';

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
