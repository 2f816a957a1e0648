import { describe, expect, it } from 'vitest';
import {
  capacityOf,
  expectedReleases,
  freeMoments,
  latestReleases,
  limitOf,
  reserveOf,
} from '../../../src/budget/rules/window.ts';
import { emptyWindow, occupancyMs, slackOf, type WindowState } from '../../../src/budget/rules/window-state.ts';
import { settings, t0 } from '../../tools/window/window-support.ts';

const state = (more: Partial<WindowState> = {}): WindowState => ({ ...emptyWindow(settings, t0), ...more });
const lease = (id: string, useBy: number, notBefore: number[]) => {
  const who = { id, holder: id, project: 'p', class: 'refresh' as const, remaining: null, since: t0 };
  return { ...who, grantedAt: t0, useBy, arrivesBy: useBy + 30_000, notBefore };
};

describe('slots', () => {
  it('stay occupied a little longer than the window', () => {
    expect([1_000, 200_000, 200_001, 3_600_000].map(slackOf)).toEqual([20, 20, 21, 360]);
    expect(occupancyMs(state())).toBe(60_020);
  });

  it('number the limit less what is left to others, at least one', () => {
    const sightings = [{ at: t0, requests: 4 }];
    const limits = (more: Partial<WindowState>) => [
      limitOf(state(more)),
      reserveOf(state(more)),
      capacityOf(state(more)),
    ];
    expect(limits({})).toEqual([10, 0, 10]);
    expect(limits({ sightings })).toEqual([10, 4, 6]);
    expect(limits({ sightings, override: { reserve: 5, until: null } })).toEqual([10, 5, 5]);
    expect(limits({ sightings, override: { requests: 3, until: null } })).toEqual([3, 2, 1]);
    expect(limits({ override: { requests: 3, reserve: 7, until: null } })).toEqual([3, 7, 1]);
  });

  it('stay occupied to the last moment for B1, and are expected back once reported', () => {
    const inUse = state({
      spent: [t0 - 10],
      leases: [lease('used', t0 + 15_000, [t0 - 20, t0]), lease('lost', t0, [t0 - 30])],
    });
    expect(latestReleases(inUse).map((moment) => moment - t0 - 60_020)).toEqual([-10, 30_000, 45_000, 45_000]);
    expect(expectedReleases(inUse).map((moment) => moment - t0 - 60_020)).toEqual([-20, -10, 0, 30_000]);
  });

  it('are free now below the capacity, then come free one by one', () => {
    const occupied = [100, 200, 300].map((ms) => t0 + ms);
    const five = state({ settings: { ...settings, requests: 5 } });
    expect(freeMoments(five, occupied, 0, 4)).toEqual([t0, t0, t0 + 100, t0 + 200]);
    expect(freeMoments(five, occupied, 1, 2)).toEqual([t0, t0 + 100]);
    expect(freeMoments(five, occupied, 4, 9)).toEqual([t0 + 300]);
    expect(freeMoments(five, occupied, 5, 1)).toEqual([]);
    const two = state({ settings: { ...settings, requests: 2 } });
    expect(freeMoments(two, occupied, 0, 1)).toEqual([t0 + 200]);
  });
});
