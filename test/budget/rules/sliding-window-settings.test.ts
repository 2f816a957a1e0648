import { describe, expect, it } from 'vitest';
import { bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import type { WindowSettings } from '../../../src/budget/rules/permits.ts';
import { leaseMs } from '../../../src/budget/rules/permits.ts';
import { advance, configure, isForeign, report, setOverride, setPause } from '../../../src/budget/rules/window.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { nextChange, occupancyMs, Scene, settings, t0 } from '../../tools/window/window-support.ts';

const view = (scene: Scene) => viewOf(scene.state, scene.now);
const configured = (scene: Scene, more: Partial<WindowSettings>) =>
  scene.apply((state, at) => configure(state, { ...settings, ...more }, at));

describe('changed settings', () => {
  it('stay when a worker with an older configuration starts late', () => {
    const scene = new Scene({ requests: 10, configuredAt: t0 - 2_000 });
    configured(scene, { requests: 4, configuredAt: t0 - 1_000 });
    configured(scene.at(1_000), { requests: 10, configuredAt: t0 - 2_000 });
    expect(view(scene)).toMatchObject({ limit: 4, configuredAt: t0 - 1_000 });
    // A client that does not say is older than all that do.
    configured(scene, { requests: 10 });
    expect(view(scene).limit).toBe(4);
    // Equal times tell nothing: the last to arrive wins.
    configured(scene, { requests: 5, configuredAt: t0 - 1_000 });
    expect(view(scene).limit).toBe(5);
  });

  it('come from one installation at a time', () => {
    const scene = new Scene();
    const foreign = (installation?: string) => isForeign(scene.state, installation, scene.now);
    expect(foreign('theirs')).toBe(false);
    configured(scene, { installation: 'ours', configuredAt: t0 - 1_000 });
    expect([foreign('ours'), foreign(), foreign('theirs')]).toEqual([false, false, true]);
    // The command line, which has no store, leaves the installation as it is.
    configured(scene, { configuredAt: t0 - 1_000 });
    scene.at(50_000).granted('a', { installation: 'ours', wants: 1 });
    scene.at(50_000 + settings.windowMs - 1);
    expect(foreign('theirs')).toBe(true);
    scene.at(50_000 + settings.windowMs);
    expect(foreign('theirs')).toBe(false);
    // What the other one used is still counted, and its settings count though their file may be older.
    configured(scene, { installation: 'theirs', requests: 4, configuredAt: t0 - 9_000 });
    expect(view(scene)).toMatchObject({ limit: 4, used: 1 });
    expect([foreign('theirs'), foreign('ours')]).toEqual([false, true]);
  });

  it('are not shut out by a configuration whose clock was ahead', () => {
    const ahead = t0 + 86_400_000;
    for (const scene of [new Scene({ configuredAt: ahead }), configured(new Scene(), { configuredAt: ahead })]) {
      configured(scene.at(5_000), { requests: 3, configuredAt: t0 + 4_000 });
      expect(view(scene).limit).toBe(3);
    }
  });

  it('grant nothing while more slots are occupied than a smaller limit allows', () => {
    const scene = new Scene();
    for (let i = 0; i < 10; i += 1) scene.at(i * 4_000).spend(1);
    configured(scene, { requests: 4 });
    expect(view(scene)).toMatchObject({ limit: 4, used: 10, available: 0 });
    // Six slots come free before there is room for one more.
    expect(scene.waits('a').waitUntil).toBe(t0 + 6 * 4_000 + occupancyMs);
    expect(scene.at(6 * 4_000 + occupancyMs).granted('a').notBefore).toHaveLength(1);
  });

  it('grant more at once when the limit is larger, and wake the waiters', () => {
    const scene = new Scene({ requests: 2 }).spend(2).at(1_000);
    scene.waits('a');
    configured(scene, { requests: 3 });
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual(['a']);
    expect(scene.granted('a').notBefore).toEqual([t0 + 1_000]);
  });

  it('leave the reserve to others, and one request to us whatever the reserve', () => {
    expect(view(new Scene({ reserve: 7 }).spend(3))).toMatchObject({ limit: 10, reserve: 7, used: 3, available: 0 });
    expect(view(new Scene({ reserve: 10 })).available).toBe(1);
  });

  it('make a longer window wait for slots that were already free', () => {
    const scene = new Scene({ windowMs: 10_000 }).spend(10);
    scene.at(10_021);
    expect(view(scene)).toMatchObject({ used: 0, available: 10 });
    configured(scene, { windowMs: 60_000 });
    expect(view(scene)).toMatchObject({ available: 0, pausedBy: null, pausedUntil: null });
    expect(scene.at(20_000).waits('a')).toMatchObject({ reason: 'window-full', waitUntil: t0 + occupancyMs });
    expect(scene.at(occupancyMs - 1).ask('a').kind).toBe('wait');
    expect(scene.at(occupancyMs).granted('a').notBefore).toHaveLength(5);
  });

  it('make a longer window wait for expired leases, and for the latest released slot', () => {
    const scene = new Scene({ windowMs: 10_000 });
    scene.granted('dead', { wants: 1 });
    const lastArrival = leaseMs + settings.arrivalMs;
    scene.at(lastArrival + 10_020).apply((state, at) => advance(state, at));
    expect(scene.state.unknownUntil).toBe(t0 + lastArrival);
    configured(scene, { windowMs: 60_000 });
    expect(scene.waits('a').waitUntil).toBe(t0 + lastArrival + occupancyMs);
  });

  it('remember the latest arrival whose slot is free again', () => {
    const scene = new Scene({ windowMs: 10_000 }).spend(1).at(500).spend(1);
    scene.at(10_400).apply(advance);
    expect(scene.state.unknownUntil).toBe(t0);
    scene.at(10_600).apply(advance);
    expect(scene.state.unknownUntil).toBe(t0 + 500);
    expect(scene.at(20_000).apply(advance).state.unknownUntil).toBe(t0 + 500);
  });

  it('remember it even if an earlier arrival is reported later', () => {
    const scene = new Scene();
    const late = scene.granted('late', { wants: 1 });
    scene.at(500).spend(1);
    scene.at(500 + occupancyMs).apply(advance);
    scene.at(600 + occupancyMs).report(late, [t0]);
    expect(scene.apply(advance).state.unknownUntil).toBe(t0 + 500);
  });

  it('free slots earlier when the window is shorter', () => {
    const scene = new Scene().spend(10).at(10_020);
    expect(view(configured(scene, { windowMs: 10_000 }))).toMatchObject({ used: 0, available: 10 });
  });

  it('leave granted leases their time', () => {
    const scene = new Scene();
    const lease = scene.granted('a', { wants: 1 });
    configured(scene, { arrivalMs: 0 });
    expect(view(scene.at(leaseMs + 30_000 + occupancyMs - 1)).used).toBe(1);
    const late = new Scene();
    const other = late.granted('a', { wants: 1 });
    configured(late, { arrivalMs: 1_000 })
      .at(15_000)
      .report(other, [t0 + 40_000]);
    expect(late.state.spent).toEqual([t0 + 40_000]);
    expect([lease.arrivalMs, late.granted('b').arrivalMs]).toEqual([30_000, 1_000]);
  });

  it('repeat a lease with the time it was granted', () => {
    const scene = new Scene();
    const first = scene.granted('a', { id: 'same' });
    configured(scene, { arrivalMs: 1_000 });
    expect(scene.granted('a', { id: 'same' })).toEqual(first);
  });

  it('do not touch a refused key', () => {
    const scene = new Scene();
    scene.report(scene.granted('a'), [t0], { unauthorized: true });
    configured(scene.at(10), {});
    expect(scene.ask('b')).toMatchObject({ kind: 'wait', reason: 'unauthorized' });
  });
});

describe('an override', () => {
  const overridden = (scene: Scene, override: Parameters<typeof setOverride>[1]) =>
    scene.apply((state, at) => setOverride(state, override, at));

  it('replaces the configuration until it is reset', () => {
    const scene = overridden(new Scene({ reserve: 1 }), { requests: 5, reserve: 2, until: null });
    expect(view(scene.at(86_400_000))).toMatchObject({ limit: 5, reserve: 2, available: 3 });
    configured(scene, { requests: 50, reserve: 1 });
    expect(view(scene)).toMatchObject({ limit: 5, override: { requests: 5, reserve: 2, until: null } });
    expect(view(overridden(scene, null))).toMatchObject({ limit: 50, reserve: 1, override: null });
  });

  it('leaves what it does not name as configured', () => {
    const scene = new Scene({ reserve: 3 });
    expect(view(overridden(scene, { requests: 8, until: null }))).toMatchObject({ limit: 8, reserve: 3 });
    expect(view(overridden(scene, { reserve: 0, until: null }))).toMatchObject({ limit: 10, reserve: 0 });
  });

  it('ends at its time, and tells when waiters can be woken', () => {
    const scene = overridden(new Scene({ requests: 2 }), { requests: 1, until: t0 + 5_000 }).spend(1);
    scene.at(1_000).waits('a');
    expect(nextChange(scene.state)).toBe(t0 + 5_000);
    expect(view(scene.at(4_999)).limit).toBe(1);
    expect(view(scene.at(5_000)).limit).toBe(2);
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual(['a']);
  });

  it('that is over already changes nothing', () => {
    const scene = overridden(new Scene().at(100), { requests: 1, until: t0 + 100 });
    expect(scene.state.override).toBeNull();
  });

  it('tells the earliest of several changes', () => {
    const scene = overridden(new Scene({ requests: 1 }), { reserve: 0, until: t0 + 900_000 }).spend(1);
    scene.at(1).waits('a', { class: 'on-demand' });
    expect(nextChange(scene.state)).toBe(t0 + 900_000);
    scene.at(2).waits('b', { class: 'on-demand' });
    expect(nextChange(scene.state)).toBe(t0 + 2 + settings.windowMs + 5_000);
  });
});

describe('a pause', () => {
  const paused = (scene: Scene, until: number | null) => scene.apply((state, at) => setPause(state, { until }, at));

  it('stops granting until its end', () => {
    const scene = paused(new Scene(), t0 + 9_000);
    expect(view(scene)).toMatchObject({ pausedBy: 'paused', pausedUntil: t0 + 9_000, available: 0 });
    expect(scene.waits('a')).toMatchObject({ reason: 'paused', waitUntil: t0 + 9_000 });
    expect(scene.at(8_999).waits('a').reason).toBe('paused');
    expect(scene.at(9_000).granted('a').notBefore).toHaveLength(5);
  });

  it('without an end lasts until it is resumed, and then wakes the waiters', () => {
    const scene = paused(new Scene(), null);
    expect(view(scene)).toMatchObject({ pausedBy: 'paused', pausedUntil: null });
    expect(scene.waits('a')).toMatchObject({ reason: 'paused', waitUntil: t0 + settings.windowMs });
    expect(bringWaitersForward(scene.state, t0 + 1).holders).toEqual([]);
    scene.at(5_000).apply((state, at) => setPause(state, null, at));
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual(['a']);
    expect(scene.granted('a').notBefore).toHaveLength(5);
  });

  it('that is set again keeps its first beginning, by the clock of the budget', () => {
    const scene = paused(paused(new Scene(), null).at(500), t0 + 60_000);
    expect(scene.state.paused).toEqual({ since: t0, until: t0 + 60_000 });
    expect(paused(new Scene().at(700), null).state).toMatchObject({ now: t0 + 700, paused: { since: t0 + 700 } });
  });

  it('takes precedence over a refusal, which remains when the pause ends', () => {
    const scene = new Scene({ requests: 100 });
    scene.report(scene.granted('a'), [t0], { throttled: { retryAfterMs: 20_000 } });
    paused(scene, t0 + 9_000);
    expect(scene.waits('b').reason).toBe('paused');
    expect(scene.at(9_000).waits('b')).toMatchObject({ reason: 'throttled', waitUntil: t0 + 20_000 });
  });

  it('lets holders of permits report them', () => {
    const scene = new Scene();
    const lease = scene.granted('a');
    paused(scene, null).apply((state, at) => report(state, { leaseId: lease.leaseId, arrived: [t0] }, at));
    expect(view(scene).used).toBe(1);
  });
});
