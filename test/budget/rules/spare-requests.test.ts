import { describe, expect, it } from 'vitest';
import { bringWaitersForward, keptFree, spareEveryMs } from '../../../src/budget/rules/waiters.ts';
import { configure, setPause } from '../../../src/budget/rules/window.ts';
import { emptyWindow } from '../../../src/budget/rules/window-state.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { nextChange, occupancyMs, Scene, settings, t0 } from '../../tools/window/window-support.ts';

const verify = { class: 'verify' as const, project: 'p' };

/** Uses one spare request now. */
function spend(scene: Scene, holder = 'v', more = {}): Scene {
  return scene.report(scene.granted(holder, { ...verify, ...more }), [scene.now], { accepted: true });
}

describe('a spare request', () => {
  it('leaves a quarter and what schedules need free, and is spread over the window', () => {
    const state = emptyWindow(settings, t0);
    expect(keptFree(state, 0)).toBe(3);
    expect(keptFree(state, 2.2)).toBe(6);
    expect(spareEveryMs(state, 0)).toBe(Math.ceil(occupancyMs / 7));
    expect(spareEveryMs(state, 7)).toBe(Number.POSITIVE_INFINITY);
    expect(spareEveryMs(state, 8)).toBe(Number.POSITIVE_INFINITY);
  });

  it('is one page, whatever is wanted, and the next comes at its time', () => {
    const scene = new Scene();
    expect(scene.granted('v', { ...verify, wants: 20 }).notBefore).toHaveLength(1);
    const every = Math.ceil(occupancyMs / 7);
    const waiting = spend(new Scene()).waits('v', verify);
    expect(waiting).toMatchObject({ reason: 'kept-free', waitUntil: t0 + every, place: 1, behind: [] });
  });

  it('is granted seven times in a window of ten, never more', () => {
    const scene = new Scene();
    const every = Math.ceil(occupancyMs / 7);
    for (let i = 0; i < 14; i += 1) spend(scene.at(i * every));
    expect(viewOf(scene.state, scene.now).used).toBe(7);
  });

  it('is refused while another asker waits or reads', () => {
    const scene = new Scene();
    const lease = scene.granted('s', { wants: 1 });
    expect(scene.waits('v', verify)).toMatchObject({ reason: 'kept-free', waitUntil: lease.useBy + 5_000 });
    scene.report(lease, [t0], { accepted: true });
    scene.apply((state, at) => setPause(state, { until: at + 30_000 }, at));
    const other = scene.waits('s');
    scene.apply((state, at) => setPause(state, null, at));
    expect(scene.waits('v', verify)).toMatchObject({
      reason: 'kept-free',
      waitUntil: other.waitUntil + 5_000,
      behind: ['s'],
    });
  });

  it('is refused between two leases of a pass that reads page by page', () => {
    const scene = new Scene();
    scene.report(scene.at(1_000).granted('s', { wants: 5 }), [scene.now], { accepted: true });
    const answer = { reason: 'kept-free', waitUntil: t0 + 21_000 };
    expect(scene.at(1_001).waits('v', verify)).toMatchObject(answer);
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual([]);
    scene.at(21_000).granted('v', verify);
  });

  it('is refused for at most half a window after the latest lease of all', () => {
    const scene = new Scene({ windowMs: 10_000 });
    scene.report(scene.granted('s', { wants: 1 }), [t0], { accepted: true });
    scene.report(scene.at(1_000).granted('r', { wants: 1 }), [scene.now], { accepted: true });
    expect(scene.at(2_000).waits('v', verify).waitUntil).toBe(t0 + 6_000);
    scene.at(6_000).granted('v', verify);
  });

  it('is refused while only the kept slots are free', () => {
    const scene = new Scene().spend(7, 's').at(25_000);
    expect(scene.waits('v', verify)).toMatchObject({ reason: 'kept-free', waitUntil: t0 + occupancyMs });
    new Scene().spend(6, 's').at(25_000).granted('v', verify);
  });

  it('is refused until a window after a 429', () => {
    const scene = new Scene().spend(9, 's').at(30_000);
    scene.report(scene.granted('s', { wants: 1 }), [scene.now], { throttled: { retryAfterMs: 1_000 } });
    expect(scene.at(61_000).waits('v', verify)).toMatchObject({ reason: 'kept-free', waitUntil: t0 + 90_000 });
  });

  it('is refused when schedules will need it', () => {
    const scene = new Scene();
    expect(scene.waits('v', { ...verify, leave: 7 })).toMatchObject({
      reason: 'kept-free',
      waitUntil: t0 + settings.windowMs,
    });
    scene.granted('v', { ...verify, leave: 6 });
  });

  it('is refused in a budget of one', () => {
    expect(new Scene({ requests: 1 }).waits('v', verify).reason).toBe('kept-free');
  });
});

describe('a waiter for a spare request', () => {
  it('is shown with its class, and never rises', () => {
    const scene = new Scene();
    spend(scene).waits('v', verify);
    const lease = scene.at(occupancyMs).granted('v', verify);
    expect(viewOf(scene.state, scene.now).holders).toMatchObject([{ workflowId: 'v', class: 'verify', permits: 1 }]);
    scene.report(lease, [scene.now]).waits('v', verify);
    for (let windows = 2; windows < 9; windows += 1) {
      scene.at(windows * occupancyMs);
      scene.spend(10, 's');
      expect(scene.waits('v', verify).reason).toBe('kept-free');
    }
    expect(viewOf(scene.state, scene.now).waiters).toMatchObject([{ workflowId: 'v', class: 'verify' }]);
  });

  it('takes turns with others of its class, project by project', () => {
    const scene = spend(new Scene(), 'v', { project: 'p' });
    const every = spareEveryMs(scene.state, 0);
    expect(scene.waits('w', { ...verify, project: 'q' }).waitUntil).toBe(t0 + every);
    expect(scene.waits('v', verify).waitUntil).toBe(t0 + 2 * every);
    scene.at(every);
    expect(scene.waits('v', verify).waitUntil).toBe(t0 + 2 * every);
    scene.granted('w', { ...verify, project: 'q' });
  });

  it('makes no other asker share, wait or wake up', () => {
    const scene = spend(new Scene({ requests: 40 }));
    scene.waits('v', verify);
    expect(scene.granted('s').notBefore).toHaveLength(10);
    expect(nextChange(scene.state)).toBeNull();
    scene.apply((state, at) => setPause(state, { until: null }, at)).waits('s');
    expect(nextChange(scene.state)).toBeNull();
  });

  it('has no place when it will not come back', () => {
    const scene = spend(new Scene());
    expect(scene.waits('v', { ...verify, mayWait: false }).forecast).toBeNull();
    expect(scene.state.waiters).toEqual([]);
  });

  it('is not woken for a better estimate', () => {
    const scene = new Scene();
    const [lease] = [scene.granted('s', { wants: 5 }), scene.granted('r', { wants: 5 })];
    expect(scene.at(21_000).waits('v', verify).waitUntil).toBe(t0 + 81_000);
    scene.at(22_000).report(lease, Array(5).fill(t0));
    expect(bringWaitersForward(scene.state, scene.now)).toEqual({ state: scene.state, holders: [], due: null });
  });

  it('is woken only when a request is spare', () => {
    const scene = new Scene();
    const leases = [scene.granted('s', { wants: 5 }), scene.granted('s', { wants: 5 })];
    const told = scene.at(21_000).waits('v', verify).waitUntil;
    for (const lease of leases) scene.report(lease, []);
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual(['v']);
    scene.apply((state, at) => configure(state, { ...settings, requests: 1 }, at));
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual([]);
    expect(told).toBeGreaterThan(scene.now);
  });
});
