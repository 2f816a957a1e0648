import { describe, expect, it } from 'vitest';
import { leaseMs } from '../../../src/budget/rules/permits.ts';
import { setOverride, setPause } from '../../../src/budget/rules/window.ts';
import { standstillText, untouchedView, viewOf } from '../../../src/budget/rules/window-view.ts';
import { frozen, occupancyMs, Scene, settings, t0 } from '../../tools/window/window-support.ts';

const view = (scene: Scene) => viewOf(frozen(scene.state), scene.now);

describe('the view of a window', () => {
  it('is empty at first', () => {
    const scene = new Scene();
    expect(view(scene)).toEqual(untouchedView(scene.state.settings));
    expect(view(scene)).toMatchObject({ limit: 10, used: 0, available: 10 });
  });

  it('counts a later permit from its moment, when the slot before it is free', () => {
    const scene = new Scene();
    for (let i = 0; i < 10; i += 1) scene.report(scene.granted('a', { wants: 1 }), [t0]);
    scene.at(settings.windowMs - 100);
    const lease = scene.granted('a');
    expect(lease.notBefore.length).toBeGreaterThan(1);
    expect(view(scene).used).toBe(10);
    expect(view(scene.at(occupancyMs)).used).toBe(lease.notBefore.length);
  });

  it('shows holders and waiters', () => {
    const scene = new Scene();
    scene.granted('a', { class: 'refresh', remaining: 7 });
    scene.at(10).granted('b', { wants: 5 });
    scene.at(20).waits('c', { class: 'refresh', remaining: 1 });
    const { holders, waiters, used, available, nextFreeAt } = view(scene);
    expect(holders).toEqual([
      {
        workflowId: 'a',
        class: 'refresh',
        permits: 5,
        since: t0,
        forecast: { doneAt: t0 + occupancyMs, pages: 7, windows: 1 },
      },
      { workflowId: 'b', class: 'refresh', permits: 5, since: t0 + 10, forecast: null },
    ]);
    expect(waiters).toEqual([
      {
        workflowId: 'c',
        class: 'refresh',
        since: t0 + 20,
        expectedAt: t0 + occupancyMs,
        forecast: { doneAt: t0 + occupancyMs, pages: 1, windows: 1 },
      },
    ]);
    expect({ used, available }).toEqual({ used: 10, available: 0 });
    expect(nextFreeAt).toBe(t0 + leaseMs + settings.arrivalMs + occupancyMs);
  });

  it('shows no holder whose lease is over, though its slots stay occupied', () => {
    const scene = new Scene();
    scene.granted('a');
    expect(view(scene.at(leaseMs - 1)).holders).toHaveLength(1);
    expect(view(scene.at(leaseMs))).toMatchObject({ holders: [], used: 5 });
  });

  it('shows when each slot comes free, and the next one if none is free', () => {
    const scene = new Scene({ requests: 2 }).spend(1).at(500);
    expect(view(scene)).toMatchObject({ nextFreeAt: null, available: 1 });
    scene.spend(1);
    expect(view(scene)).toMatchObject({
      nextFreeAt: t0 + occupancyMs,
      releases: [t0 + occupancyMs, t0 + 500 + occupancyMs],
    });
  });

  it('has nothing available while blocked, and says why', () => {
    const scene = new Scene();
    const lease = scene.granted('a', { wants: 1 });
    scene.report(lease, [t0], { throttled: { retryAfterMs: 5_000 } });
    expect(view(scene)).toMatchObject({ available: 0, pausedBy: 'throttled', pausedUntil: t0 + 5_000 });
    const probing = new Scene();
    probing.report(probing.granted('a', { wants: 1 }), [t0], { unauthorized: true });
    probing.at(60_000).granted('b');
    expect(view(probing)).toMatchObject({ available: 0, pausedBy: null, pausedUntil: null });
  });

  it('says why an organization reads nothing, and nothing while the window alone decides', () => {
    const scene = new Scene({ requests: 1 }).spend(1);
    expect(standstillText(view(scene), scene.now)).toBeNull();
    const refused = new Scene();
    refused.report(refused.granted('a', { wants: 1 }), [t0], { unauthorized: true });
    expect(standstillText(view(refused), t0)).toMatch(/^the service refuses the API key \(401\); the next try is at /);
    const throttled = new Scene();
    throttled.report(throttled.granted('a', { wants: 1 }), [t0], { throttled: { retryAfterMs: 5_000 } });
    expect(standstillText(view(throttled), t0)).toMatch(
      /^the budget is paused by the service \(429\) until .*; other clients use about \d+ of 10$/,
    );
    const paused = new Scene().apply((state, at) => setPause(state, { until: null }, at));
    expect(standstillText(view(paused), t0)).toBe('the budget is paused by hand until resumed');
  });

  it('says until when and why a window is full that grants nothing for long', () => {
    const windowMs = 3_600_000;
    const minutes = (count: number) => count * 60_000;
    const text = (scene: Scene) => standstillText(view(scene), scene.now);
    const scene = new Scene({ windowMs }, 0).spend(3);
    scene.now = minutes(20);
    scene.spend(3);
    expect(text(scene)).toBeNull();
    const override = { requests: 4, until: minutes(180), by: 'ada\u202e' };
    scene.apply((state, at) => setOverride(state, override, at));
    const full =
      'the window is full until 01:00:00 UTC: 6 of 4 used (limit lowered); set by hand: 4 requests until 03:00:00 UTC, by ada\uFFFD';
    expect(text(scene)).toBe(full);
    // It is said until the end, and not while somebody reads.
    scene.now = windowMs - 1_000;
    expect(text(scene)).toBe(full);
    scene.now = windowMs + 1_000;
    scene.granted('a', { wants: 1 });
    expect(view(scene)).toMatchObject({ available: 0 });
    expect(text(scene)).toBeNull();

    expect(text(new Scene({ windowMs }, 0).spend(10))).toBe('the window is full until 01:00:00 UTC: 10 of 10 used');
    // One request every six minutes fills the window too.
    const evenly = new Scene({ windowMs }, 0);
    for (; evenly.now < windowMs; evenly.now += minutes(6)) evenly.spend(1);
    evenly.now -= 1_000;
    expect(view(evenly)).toMatchObject({ available: 0 });
    expect(text(evenly)).toBeNull();
  });

  it('shows a pause without an end', () => {
    const scene = new Scene().apply((state, at) => setPause(state, { until: null }, at));
    expect(view(scene)).toMatchObject({ available: 0, pausedBy: 'paused', pausedUntil: null });
  });
});
