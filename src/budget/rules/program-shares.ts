/**
 * Programs that ask through the gateway: each may hold its share of the limit, by the slots it occupies, however often
 * the gateway restarts and however many there are (B6). They are no workflows: nothing can wake them.
 */

import type { PermitAsk, ProgramView } from './permits.ts';
import { expectedReleases, limitOf } from './occupied-slots.ts';
import type { ProgramUse, WindowState } from './window-state.ts';

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
export function chargeProgram(state: WindowState, holder: string, arrivals: readonly number[]): void {
  const program = programOf(state, holder);
  if (program === null) return;
  state.programs = { ...state.programs, [holder]: { ...program, spent: [...program.spent, ...arrivals] } };
}

/** Programs that still hold slots, have a lease or wait. */
export function presentPrograms(
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
