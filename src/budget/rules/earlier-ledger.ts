/**
 * A budget that was moved, terminated or lost starts as if its window were full when there are signs of an earlier one
 * (B7): the earlier ledger knew what was sent, this one does not.
 */

import { leaseMs, type WindowSettings } from './permits.ts';
import { advance } from './advance-window.ts';
import { emptyWindow, type WindowState } from './window-state.ts';

/** What a store knows of a pass. */
export interface PassTrace {
  requests: number;
  /** Null while it runs. */
  finishedAt: string | null;
}

/** Passes among which signs are looked for, the newest ones. */
export const tracesRead = 500;
/** Stands for the start of the new ledger by its own clock: the earlier one may have granted until then. */
export const untilNow = 4_102_444_800_000;

/**
 * When an earlier ledger may last have granted permits, as far as a store's passes show, and when the store was restored:
 * what was sent between the backup and the restoration left no trace. Null when nothing shows a request.
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
  // Nothing was granted later than now, whatever another clock says.
  return { ...fresh, forgotten: Math.min(earlierGrantAt, now) + leaseMs + settings.arrivalMs };
}

/** The window of a ledger that was set back: what it granted since may be unknown, or known with another moment. */
export function windowAfterReset(before: WindowState, at: number): WindowState {
  const state = advance(before, at);
  return { ...state, forgotten: state.now + leaseMs + state.settings.arrivalMs };
}
