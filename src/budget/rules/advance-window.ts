import { recentSightings } from './other-clients.ts';
import { presentPrograms } from './program-shares.ts';
import { max } from './quick-math.ts';
import { recentAttempts, recentTurns } from './remembered.ts';
import { placeKeptMs } from './waiter-order.ts';
import { occupancyMs } from './occupied-slots.ts';
import { probeDue, type WindowState } from './window-state.ts';

/**
 * The state at `at`: slots whose time has passed are free, and waiters that have long not come back have lost their
 * place. Unchanged lists are shared with the previous state.
 */
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
    forgotten: latestReleased(before, isOccupied),
    leases,
    waiters,
    attempts: recentAttempts(before.attempts, { leases, waiters }),
    served: recentTurns(before.served, { leases, waiters }),
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
  let latest = state.forgotten;
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
