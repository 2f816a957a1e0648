import type { ScheduledPass } from './schedule-outlook.ts';
import { freshestIntervals, longestEveryMs, type Refreshed, requestRate, roundedUp } from './staleness.ts';

/** Share of the available requests that is planned; the rest is for syncs on demand, retries and coinciding runs. */
export const plannedShare = 0.8;
/** The shortest interval proposed for an incremental pass, unless a shorter one is configured. */
export const shortestProposedMs = 5 * 60_000;

export interface ProposedIntervals {
  /** In milliseconds, in the order of the schedules; null for cron. Null as a whole when no intervals fit. */
  intervals: (number | null)[] | null;
  /** What needs too much for any intervals to fit. */
  hopeless: 'cron' | 'entries' | null;
}

interface Timed {
  index: number;
  pass: ScheduledPass;
  everyMs: number;
}

/**
 * The intervals, rounded up, that bring new entries into the store soonest for `available` requests per millisecond;
 * `rate` is a schedule's present demand in requests per millisecond. Cron schedules stay. Reviews and sweeps stay too,
 * unless the total demand exceeds the budget: then they stretch to half of the plan, the expensive ones most, and never
 * shrink. Incremental passes share the rest; while all fits, none runs less often than configured. The plan uses 80 % of
 * the available requests, or the present demand if that is more and fits.
 */
export function proposeIntervals(
  schedules: readonly (ScheduledPass & { rate: number })[],
  available: number,
): ProposedIntervals {
  const today = schedules.reduce((sum, { rate }) => sum + rate, 0);
  const fits = today <= available;
  const cron = schedules.reduce((sum, { times, rate }) => (times.everyMs === undefined ? sum + rate : sum), 0);
  const planned = Math.max(plannedShare * available, fits ? today : 0) - cron;
  const timed = schedules.flatMap((pass, index): Timed[] => {
    const { everyMs } = pass.times;
    return everyMs === undefined ? [] : [{ index, pass, everyMs }];
  });
  if (planned < 0 || (planned === 0 && timed.length > 0)) return { intervals: null, hopeless: 'cron' };
  const fresh = timed.filter(({ pass }) => pass.pass === 'incremental');
  const kept = timed.filter(({ pass }) => pass.pass !== 'incremental');
  const steady = fits ? kept : stretched(kept, fresh.length === 0 ? planned : planned / 2);
  const soonest = freshestIntervals(
    fresh.map((timed) => asNewEntries(timed, fits)),
    planned - loadOf(steady),
  );
  if (soonest === null) return { intervals: null, hopeless: 'entries' };
  const found = new Map(steady.map(({ index, everyMs }) => [index, everyMs]));
  for (const [nth, { index, everyMs }] of fresh.entries()) {
    const wantedMs = soonest[nth] ?? everyMs;
    found.set(index, fits ? Math.min(everyMs, roundedUp(wantedMs)) : roundedUp(wantedMs));
  }
  return { intervals: schedules.map((_, index) => found.get(index) ?? null), hopeless: null };
}

function asNewEntries({ pass, everyMs }: Timed, fits: boolean): Refreshed {
  const shortestMs = Math.min(shortestProposedMs, everyMs);
  return { cost: pass.cost, weight: pass.newPerDay, shortestMs, longestMs: fits ? everyMs : longestEveryMs };
}

/** Unchanged if they cost at most `budget`, else longer. */
function stretched(kept: readonly Timed[], budget: number): Timed[] {
  if (loadOf(kept) <= budget) return [...kept];
  const longer = freshestIntervals(
    kept.map(({ pass, everyMs }) => ({ cost: pass.cost, weight: 1, shortestMs: everyMs, longestMs: longestEveryMs })),
    budget,
  );
  return kept.map((timed, nth) => {
    const everyMs = longer?.[nth] ?? timed.everyMs;
    return everyMs > timed.everyMs ? { ...timed, everyMs: roundedUp(everyMs) } : timed;
  });
}

function loadOf(timed: readonly Timed[]): number {
  return requestRate(timed.map(({ pass, everyMs }) => ({ cost: pass.cost, everyMs })));
}
