import { occupancyMs } from './occupied-slots.ts';
import { recentSightings } from './other-clients.ts';
import { presentPrograms } from './program-shares.ts';
import { comeBackGraceMs, turnOf } from './waiter-order.ts';
import { probeDue, type WindowState } from './window-state.ts';

/** How many holders, and turns of holders, are remembered after they left. */
const departedKept = 20;

/** The state at `at`: slots whose time has passed are free, waiters that did not come back have lost their place. */
export function advance(before: WindowState, at: number): WindowState {
  const now = Math.max(before.now, at);
  const { windowMs } = before.settings;
  const isOccupied = (moment: number) => moment + occupancyMs(before) > now;
  const leases = before.leases.filter((lease) => isOccupied(lease.arrivesBy));
  const waiters = before.waiters.filter((waiter) => waiter.expectedAt + comeBackGraceMs > now);
  const probing = before.leases.find((lease) => lease.id === before.probe);
  const probeLost = before.probe !== null && (probing === undefined || probing.useBy <= now);
  const present = new Set([...leases, ...waiters].map(({ holder }) => holder));
  const past = (until: number | null | undefined) => until !== null && until !== undefined && until <= now;
  return {
    ...before,
    now,
    override: past(before.override?.until) ? null : before.override,
    spent: before.spent.filter(isOccupied),
    forgotten: latestReleased(before, (moment) => !isOccupied(moment)),
    leases,
    waiters,
    attempts: pruned(before.attempts, present),
    served: pruned(before.served, new Set([...leases, ...waiters].map(turnOf))),
    throttledUntil: past(before.throttledUntil) ? null : before.throttledUntil,
    paused: past(before.paused?.until) ? null : before.paused,
    probe: probeLost ? probeDue : before.probe,
    programs: presentPrograms(before.programs, present, isOccupied),
    throttles: before.throttles.filter((moment) => moment + windowMs > now),
    sightings: recentSightings(before.sightings, now, windowMs),
  };
}

/** Latest arrival whose slot is free again. */
function latestReleased(state: WindowState, isFree: (moment: number) => boolean): number | null {
  const moments = [...state.spent, ...state.leases.map(({ arrivesBy }) => arrivesBy)].filter(isFree);
  return moments.length === 0 ? state.forgotten : Math.max(state.forgotten ?? 0, ...moments);
}

/** Entries of those present, and the latest of those that left: an older attempt may still wake up. */
function pruned(moments: Record<string, number>, present: ReadonlySet<string>): Record<string, number> {
  const left = Object.entries(moments).filter(([name]) => !present.has(name));
  const latest = left.sort((a, b) => b[1] - a[1]).slice(0, departedKept);
  return Object.fromEntries([...Object.entries(moments).filter(([name]) => present.has(name)), ...latest]);
}
