import { describe, expect, it } from 'vitest';
import { type Demand, forecastOf, momentOfPermit, type Slots } from '../../../src/budget/rules/grant-or-wait.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { occupancyMs, Scene, t0 } from '../../tools/window/window-support.ts';

const windowMs = 60_000;
const now = 1_000_000;
const slots = (more: Partial<Slots> = {}): Slots => ({
  now,
  notBefore: now,
  windowMs,
  capacity: 3,
  releases: [],
  ...more,
});
const [onDemand, review, sweep] = [0, 2, 3];
const demand = (holder: string, more: Partial<Demand> = {}): Demand => ({
  holder,
  rank: sweep,
  remaining: 4,
  granted: 0,
  ...more,
});

describe('the moment of a permit', () => {
  const moments = (count: number, of: Slots) =>
    Array.from({ length: count }, (_, i) => momentOfPermit(i + 1, of) - now);

  it('is now while slots are free, and one window later for the next round', () => {
    expect(moments(7, slots())).toEqual([0, 0, 0, windowMs, windowMs, windowMs, 2 * windowMs]);
  });

  it('is when an occupied slot comes free, in turn, once per window', () => {
    const occupied = slots({ releases: [now + 100, now + 300] });
    expect(moments(6, occupied)).toEqual([0, 100, 300, windowMs, windowMs + 100, windowMs + 300]);
  });

  it('is never earlier than the end of a block', () => {
    const paused = slots({ notBefore: now + 200, releases: [now + 100, now + 300] });
    expect(moments(4, paused)).toEqual([200, 200, 300, windowMs + 200]);
  });

  it('waits for the surplus first when more slots are occupied than allowed', () => {
    const shrunk = slots({ releases: [100, 200, 300, 400, 500].map((ms) => now + ms) });
    expect(moments(4, shrunk)).toEqual([300, 400, 500, windowMs + 300]);
  });
});

describe('the forecast of a pass', () => {
  it('is when its last page gets its permit', () => {
    expect(forecastOf(demand('a'), [], slots())).toEqual({ doneAt: now + windowMs, pages: 4, windows: 1 });
    expect(forecastOf(demand('a', { remaining: 3 }), [], slots())).toEqual({
      doneAt: now,
      pages: 3,
      windows: 0,
    });
  });

  it('rounds windows up', () => {
    const occupied = slots({ releases: [now + 1, now + 2, now + 3] });
    expect(forecastOf(demand('a', { remaining: 1 }), [], occupied)?.windows).toBe(1);
    expect(forecastOf(demand('a'), [], occupied)).toMatchObject({ doneAt: now + windowMs + 1, windows: 2 });
  });

  it('is null for a pass that does not know its remaining pages', () => {
    expect(forecastOf(demand('a', { remaining: null }), [], slots())).toBeNull();
  });

  it('needs no permits for what is granted already', () => {
    const granted = (count: number) => forecastOf(demand('a', { granted: count }), [], slots());
    expect(granted(1)).toEqual({ doneAt: now, pages: 4, windows: 0 });
    expect(granted(4)).toEqual({ doneAt: now, pages: 4, windows: 0 });
    expect(granted(9)).toEqual({ doneAt: now, pages: 4, windows: 0 });
  });

  it('is now for a pass that has all its permits, whatever the window', () => {
    const full = slots({ notBefore: now + 5_000 });
    expect(forecastOf(demand('a', { remaining: 0 }), [demand('b')], full)?.doneAt).toBe(now);
    expect(forecastOf(demand('a', { remaining: 2, granted: 2 }), [], full)?.doneAt).toBe(now);
  });

  it('comes after all pages of more urgent passes', () => {
    const urgent = demand('u', { rank: onDemand, remaining: 20, granted: 1 });
    // 19 and 1 fill six windows of three and two slots of the seventh.
    expect(forecastOf(demand('a', { remaining: 1 }), [urgent], slots())?.windows).toBe(6);
    expect(forecastOf(demand('a', { remaining: 3 }), [urgent], slots())?.windows).toBe(7);
  });

  it('takes turns with passes of the same rank, up to its own number of pages', () => {
    const windows = (remaining: number) =>
      forecastOf(demand('a', { remaining: 3 }), [demand('b', { remaining })], slots())?.windows;
    expect([0, 1, 3, 300].map(windows)).toEqual([0, 1, 1, 1]);
    const twin = [demand('b', { remaining: 300 }), demand('c', { remaining: 300 })];
    expect(forecastOf(demand('a', { remaining: 3 }), twin, slots())?.windows).toBe(2);
  });

  it('does not wait for less urgent passes or for its own other entries', () => {
    const others = [demand('b', { rank: sweep, remaining: 300 }), demand('a', { rank: review, remaining: 300 })];
    expect(forecastOf(demand('a', { rank: review, remaining: 3 }), others, slots())?.windows).toBe(0);
  });

  it('counts one page for a pass that does not know its pages, and none for one with all its permits', () => {
    const mine = demand('a', { remaining: 3 });
    expect(forecastOf(mine, [demand('b', { remaining: null })], slots())?.windows).toBe(1);
    expect(forecastOf(mine, [demand('b', { remaining: 2, granted: 5 })], slots())?.windows).toBe(0);
  });
});

describe('forecasts of the window', () => {
  it('come with a grant and with a wait', () => {
    const scene = new Scene();
    expect(scene.granted('a', { remaining: 25 }).forecast).toEqual({
      doneAt: t0 + 2 * occupancyMs,
      pages: 25,
      windows: 2,
    });
    expect(scene.granted('a', { remaining: 5 }).forecast).toEqual({ doneAt: t0, pages: 5, windows: 0 });
    expect(scene.waits('a', { remaining: 12 }).forecast).toEqual({
      doneAt: t0 + 2 * occupancyMs,
      pages: 12,
      windows: 2,
    });
    expect(scene.waits('b').forecast).toBeNull();
  });

  it('begin after the end of a block', () => {
    const scene = new Scene();
    const lease = scene.granted('x', { wants: 1 });
    scene.report(lease, [t0], { unauthorized: true });
    expect(scene.waits('a', { remaining: 3 }).forecast).toEqual({ doneAt: t0 + 60_000, pages: 3, windows: 1 });
  });

  it('count each holder and each waiter once', () => {
    const scene = new Scene({ requests: 100 }).spend(95);
    scene.granted('reads', { wants: 5, remaining: 45 });
    scene.at(10).waits('waits', { remaining: 20 });
    scene.waits('late', { remaining: 90 });
    const { holders, waiters } = viewOf(scene.state, scene.now);
    // A window has room for the twenty and the forty that take turns with them, but not for the other waiter's.
    expect(waiters.map(({ forecast }) => forecast?.pages)).toEqual([20, 90]);
    expect(holders.map(({ forecast }) => forecast?.pages)).toEqual([45]);
    expect(waiters[0]?.forecast?.doneAt).toBe(t0 + occupancyMs);
    expect(waiters[1]?.forecast?.doneAt).toBe(t0 + 2 * occupancyMs);
    expect(holders[0]?.forecast?.doneAt).toBe(t0 + 2 * occupancyMs);
  });
});
