import { describe, expect, it } from 'vitest';
import { packed, unpacked } from '../../../src/budget/rules/carry-window.ts';
import { leaseMs, mostRequests, type WindowSettings } from '../../../src/budget/rules/permits.ts';
import { latestReleases } from '../../../src/budget/rules/window.ts';
import {
  type CarriedWindow,
  emptyWindow,
  mostWaiters,
  readBudgetInput,
  type WindowState,
} from '../../../src/budget/rules/window-state.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { occupancyMs, Scene, settings, t0 } from '../../tools/window/window-support.ts';

/** A state as the next run reads it from its input. */
function carry(state: CarriedWindow): WindowState {
  const input = { org: 'acme', settings: state.settings, carried: JSON.parse(JSON.stringify(state)) };
  const { carried } = readBudgetInput(input);
  if (!carried) throw new Error('nothing was carried');
  return unpacked(carried);
}

const byName = <T extends { at: number }>(items: T[]) =>
  [...items].sort((a, b) => a.at - b.at || JSON.stringify(a).localeCompare(JSON.stringify(b)));
const sorted = (state: WindowState) => ({ ...state, attempts: byName(state.attempts), served: byName(state.served) });

describe('the window that a run hands to the next', () => {
  it('is the same while leases are in use', () => {
    const scene = new Scene({ requests: 5 });
    scene.granted('a', { wants: 2 });
    scene.granted('c', { wants: 3 });
    scene.waits('b', { wants: 20, class: 'on-demand' });
    // Two of one project, of which another pass was served.
    for (const holder of ['d', 'e']) scene.waits(holder, { project: 'prj_a', wants: 7, remaining: 40, attemptAt: 3 });
    expect(sorted(carry(packed(scene.state)))).toEqual(sorted(scene.state));
  });

  it('holds the slots of a lease that nobody reported, as long as before, but not whose it was', () => {
    const scene = new Scene().spend(2);
    const { notBefore } = scene.granted('dead', { wants: 3, project: 'prj_1', remaining: 40 });
    scene.at(leaseMs).spend(1);
    const after = carry(packed(scene.state));
    expect(latestReleases(after)).toEqual(latestReleases(scene.state));
    expect(after.leases).toMatchObject([{ holder: '', notBefore, useBy: t0 + leaseMs }]);
  });

  it('takes the late report of such a lease, once', () => {
    const scene = new Scene();
    const lease = scene.granted('slow', { wants: 3 });
    scene.at(leaseMs + 1).apply((state) => carry(packed({ ...state, now: scene.now })));
    expect(scene.report(lease, [t0 + 5]).state.spent).toEqual([t0 + 5]);
    expect(scene.report(lease, [t0 + 5]).state.spent).toEqual([t0 + 5]);
  });
});

describe('a program whose leases lapsed (B6)', () => {
  const search = 'gateway:search';
  const question = { class: 'on-demand' as const, program: { share: 30 }, attemptAt: 0 };

  it('does not get its share again from the next run, however often the budget goes on', () => {
    const scene = new Scene();
    const [slow] = [scene.granted(search, { ...question, wants: 2 }), scene.granted(search, question)];
    scene.at(leaseMs + 1);
    for (let run = 0; run < 2; run += 1) scene.apply((state) => carry(packed({ ...state, now: scene.now })));
    expect(scene.waits(search, question)).toMatchObject({ reason: 'share' });
    expect(viewOf(scene.state, scene.now).programs).toEqual([{ workflowId: search, used: 3, share: 30 }]);
    scene.report(slow, [t0 + 5, t0 + 6]);
    expect(scene.waits(search, question)).toMatchObject({ reason: 'share' });
    // Its last slot is free one window after the latest arrival.
    scene.at(leaseMs + settings.arrivalMs + occupancyMs);
    expect(scene.granted(search, question).notBefore).toHaveLength(3);
  });
});

describe('the largest window', () => {
  /** The server refuses inputs of 2 MiB. */
  const inputLimit = 2 * 1024 * 1024;
  const now = Date.UTC(2026, 10, 22, 12);
  const windowMs = 3_600_000;
  const largest: WindowSettings = { ...settings, requests: mostRequests, windowMs };
  /** As long as ids can be: those of organizations and projects have 64 letters at most. */
  const padded = (name: string, i: number) => `${name}_${i}_`.padEnd(64, 'x');
  const holderOf = (i: number) => `sync:${padded('org', 0)}:${padded('prj', i)}:incremental`;
  const kind = 'on-demand' as const;

  /** A window with as many waiters as are given a place, each served before. */
  const crowded = (): WindowState => {
    const passes = Array.from({ length: mostWaiters }, (_, i) => ({ holder: holderOf(i), project: padded('prj', i) }));
    const claim = { class: kind, wants: 20, remaining: 100_000, since: now - 1, servedAt: now - 2, expectedAt: now };
    return {
      ...emptyWindow(largest, now),
      waiters: passes.map((pass) => ({ ...pass, ...claim })),
      attempts: passes.map(({ holder }) => ({ holder, at: now })),
      served: passes.map(({ project }) => ({ turn: `${project} ${kind}`, at: now - 2 })),
    };
  };
  const bytesOf = (state: WindowState) => Buffer.byteLength(JSON.stringify(packed(state)));

  it('fits into the input of a run when every request has a lease that nobody reported', () => {
    const leases = Array.from({ length: mostRequests }, (_, i) => {
      const grantedAt = now - windowMs + i;
      const useBy = grantedAt + leaseMs;
      return {
        id: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
        holder: holderOf(i),
        project: padded('prj', i),
        class: kind,
        remaining: 1,
        since: grantedAt,
        grantedAt,
        useBy,
        arrivesBy: useBy + largest.arrivalMs,
        notBefore: [grantedAt + 1_000],
      };
    });
    const attempts = leases.map(({ holder, grantedAt }) => ({ holder, at: grantedAt }));
    const state = { ...crowded(), leases, attempts };
    expect(carry(packed(state)).leases).toHaveLength(mostRequests);
    expect(bytesOf(state)).toBeLessThan(0.8 * inputLimit);
    const gateway = `gateway:${padded('client', 0)}`;
    const ofProgram = leases.map((lease) => ({ ...lease, holder: gateway }));
    const programs = { [gateway]: { share: 100, spent: [] } };
    expect(bytesOf({ ...state, leases: ofProgram, programs })).toBeLessThan(0.9 * inputLimit);
  });

  it('fits when every request was reported by programs, of which it remembers each twice', () => {
    const spent = Array.from({ length: mostRequests }, (_, i) => now - windowMs + i);
    const programs = { [`gateway:${padded('client', 0)}`]: { share: 100, spent } };
    expect(bytesOf({ ...crowded(), spent, programs })).toBeLessThan(0.8 * inputLimit);
  });
});
