import { describe, expect, it } from 'vitest';
import { bringWaitersForward, dropWaiter } from '../../../src/budget/rules/grant-or-wait.ts';
import { leaseMs } from '../../../src/budget/rules/permits.ts';
import { advance, retryKey, setPause } from '../../../src/budget/rules/window.ts';
import { mostWaiters } from '../../../src/budget/rules/window-state.ts';
import { nextChange, occupancyMs, Scene, settings, t0 } from '../../tools/window/window-support.ts';

describe('the queue of a sliding window', () => {
  it('serves waiters in order of arrival and gives each its own time', () => {
    const scene = new Scene();
    for (let i = 0; i < 10; i += 1) scene.at(i * 4_000).spend(1, `x${i}`);
    scene.at(50_000);
    expect(scene.waits('a').waitUntil).toBe(t0 + occupancyMs);
    expect(scene.waits('b')).toMatchObject({ place: 2, behind: ['a'], waitUntil: t0 + 4_000 + occupancyMs });
    // b comes too early and must not take the slot a waits for
    expect(scene.at(occupancyMs).ask('b').kind).toBe('wait');
    expect(scene.at(occupancyMs + 10).granted('a').notBefore).toEqual([t0 + occupancyMs + 10]);
  });

  it('serves the more urgent class first, not the first asker', () => {
    const scene = new Scene().spend(10).at(1_000);
    scene.waits('sweep');
    expect(scene.waits('person', { class: 'on-demand', wants: 3 })).toMatchObject({ place: 1, behind: [] });
    expect(scene.waits('sweep')).toMatchObject({ place: 2, behind: ['person'] });
  });

  it('names the first five waiters ahead', () => {
    const scene = new Scene().spend(10).at(1_000);
    for (const holder of ['a', 'b', 'c', 'd', 'e', 'f']) scene.waits(holder);
    expect(scene.waits('g')).toMatchObject({ place: 7, behind: ['a', 'b', 'c', 'd', 'e'] });
  });

  it('never makes two askers of the same millisecond wait for each other', () => {
    const scene = new Scene({ requests: 1 }).spend(1).at(1_000);
    expect(scene.waits('b')).toMatchObject({ place: 1, behind: [] });
    expect(scene.waits('a')).toMatchObject({ place: 2, behind: ['b'], waitUntil: t0 + 1_000 + settings.windowMs });
    expect(scene.waits('b')).toMatchObject({ place: 1, behind: [] });
    expect(scene.at(occupancyMs).granted('b').notBefore).toHaveLength(1);
  });

  it('lets refresh take turns once it has waited for a window, though its own project asks on demand', () => {
    const scene = new Scene({ requests: 2 });
    const people = ['p', 'q'].map((project) => ({
      holder: `person-${project}`,
      project,
      class: 'on-demand' as const,
    }));
    const served = () =>
      people.filter(({ holder, ...more }) => {
        const answer = scene.ask(holder, { ...more, wants: 1 });
        if (answer.kind === 'granted') scene.report(answer, answer.notBefore, { accepted: true });
        return answer.kind === 'granted';
      });
    expect(served()).toHaveLength(2);
    scene.waits('refresh', { project: 'p' });
    const turn = () => {
      const answer = scene.ask('refresh', { project: 'p', wants: 1 });
      if (answer.kind === 'granted') scene.report(answer, answer.notBefore, { accepted: true });
      return answer.kind;
    };
    const perWindow = [1, 2, 3].map((round) => {
      scene.at(round * occupancyMs);
      const others = served().length;
      return [others, turn()];
    });
    expect(perWindow).toEqual([
      [1, 'granted'],
      [2, 'wait'],
      [1, 'granted'],
    ]);
  });

  it('serves others while a waiter is five seconds late, and keeps its place for ten minutes', () => {
    const scene = new Scene({ requests: 1 }).spend(1).at(1);
    scene.waits('late');
    scene.at(2).waits('b');
    expect(scene.at(occupancyMs + 4_999).waits('b')).toMatchObject({ place: 2, behind: ['late'] });
    const lease = scene.at(occupancyMs + 5_000).granted('b');
    scene.report(lease, [scene.now], { accepted: true });
    expect(scene.waits('b')).toMatchObject({ place: 1, behind: [] });
    // It comes at last, on a machine that was busy, and goes first again.
    scene.at(2 * occupancyMs).waits('late');
    expect(scene.waits('b')).toMatchObject({ place: 2, behind: ['late'] });
    expect(scene.at(2 * occupancyMs + 5_000).granted('late').notBefore).toHaveLength(1);
  });

  it('forgets a waiter that has not come back for ten minutes', () => {
    const scene = new Scene({ requests: 1 }).spend(1).at(1);
    scene.waits('dead');
    scene.at(occupancyMs + 10 * 60_000 - 1).apply(advance);
    expect(scene.state.waiters).toMatchObject([{ holder: 'dead', since: t0 + 1 }]);
    expect(scene.at(occupancyMs + 10 * 60_000).apply(advance).state.waiters).toEqual([]);
  });

  it('gives no place to more waiters than a run can carry to the next', () => {
    const scene = new Scene({ requests: 1 }).spend(1).at(1);
    for (let i = 0; i < mostWaiters + 1; i += 1) scene.waits(`w${i}`);
    expect(scene.state.waiters).toHaveLength(mostWaiters);
    expect(scene.waits('w0').place).toBe(1);
  });

  it('gives neither place nor forecast to an asker that will not come back, whatever the reason of the refusal', () => {
    const full = new Scene().spend(10).at(1);
    const paused = new Scene().apply((state, at) => setPause(state, { until: null }, at));
    for (const scene of [full, paused]) {
      expect(scene.waits('check', { mayWait: false, remaining: 3 })).toMatchObject({ place: 1, forecast: null });
      expect(scene.state.waiters).toEqual([]);
      scene.waits('comes back', { mayWait: true });
      expect(scene.state.waiters).toHaveLength(1);
    }
  });

  it('forgets a waiter once it is served, and no other', () => {
    const scene = new Scene().spend(10).at(1);
    scene.waits('a');
    scene.waits('b');
    scene.at(occupancyMs + 1).granted('a');
    expect(scene.state.waiters.map(({ holder }) => holder)).toEqual(['b']);
  });

  it('keeps the first time of a waiter that asks again, and takes over what it wants now', () => {
    const scene = new Scene().spend(10).at(1);
    scene.waits('a', { wants: 5 });
    scene.at(2).waits('b');
    scene.at(3).waits('a', { wants: 3, remaining: 12 });
    expect(scene.state.waiters).toMatchObject([
      { holder: 'a', since: t0 + 1, wants: 3, remaining: 12 },
      { holder: 'b', since: t0 + 2 },
    ]);
  });
});

describe('waking waiters', () => {
  it('wakes a waiter that can be served now and was told to come a second later or more', () => {
    const scene = new Scene({ requests: 2 });
    const lease = scene.granted('a');
    scene.granted('a');
    scene.at(500).waits('b');
    const { state, holders, due } = bringWaitersForward(scene.at(1_000).report(lease, []).state, scene.now);
    expect(holders).toEqual(['b']);
    expect(state.waiters).toMatchObject([{ holder: 'b', expectedAt: t0 + 1_000 }]);
    expect(bringWaitersForward(state, scene.now)).toEqual({ state, holders: [], due });
  });

  it('lets a waiter sleep that was told to come less than a second later', () => {
    const woken = (told: number) => {
      const scene = new Scene({ requests: 1 }).spend(1).at(2_000);
      scene.waits('b');
      scene.state = { ...scene.state, waiters: scene.state.waiters.map((w) => ({ ...w, expectedAt: told })) };
      return bringWaitersForward(scene.state, t0 + occupancyMs).holders;
    };
    expect(woken(t0 + occupancyMs + 999)).toEqual([]);
    expect(woken(t0 + occupancyMs + 1_000)).toEqual(['b']);
  });

  it('wakes one waiter for one slot, and tells when the next can be served', () => {
    const scene = new Scene({ requests: 3 });
    const lease = scene.granted('x', { wants: 1 });
    scene.spend(1).at(20_000).spend(1);
    for (let i = 0; i < 5; i += 1) scene.waits(`w${i}`);
    // All five could go a slot earlier now, but only the first one's slot is there.
    const { state, holders, due } = bringWaitersForward(scene.at(21_000).report(lease, []).state, scene.now);
    expect(holders).toEqual(['w0']);
    expect(due).toBe(t0 + 26_000);
    const served = scene.apply(() => state).granted('w0');
    scene.report(served, [scene.now], { accepted: true });
    // The slot w0 waited for, which was told nobody else, is now w1's; it can be granted 1.5 s before it comes free.
    const next = bringWaitersForward(scene.state, scene.now);
    expect(next).toMatchObject({ holders: [], due: t0 + occupancyMs - 1_500 });
    expect(bringWaitersForward(next.state, t0 + occupancyMs - 1_501).holders).toEqual([]);
    expect(bringWaitersForward(next.state, t0 + occupancyMs - 1_500).holders).toEqual(['w1']);
  });

  it('asks no more than fifty waiters to come at a time', () => {
    const scene = new Scene({ requests: 200 }).apply((state, at) => setPause(state, { until: null }, at));
    for (let i = 0; i < 120; i += 1) scene.waits(`w${i}`, { wants: 1 });
    scene.at(1_000).apply((state, at) => setPause(state, null, at));
    const first = bringWaitersForward(scene.state, scene.now);
    expect(first.holders).toHaveLength(50);
    expect(bringWaitersForward(first.state, scene.now).holders).toEqual([]);
    scene.apply(() => first.state).granted('w0');
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual(['w50']);
    expect(bringWaitersForward(scene.state, first.due ?? 0).holders).toHaveLength(50);
  });

  it('wakes only the first after a refusal, which goes before the others', () => {
    const scene = new Scene();
    const lease = scene.granted('x', { wants: 1 });
    scene.report(lease, [t0], { unauthorized: true });
    const told = ['a', 'b', 'c'].map((holder) => scene.waits(holder).waitUntil - t0);
    expect(told).toEqual([60_000, 60_000 + leaseMs, 60_000 + leaseMs]);
    const tried = bringWaitersForward(scene.at(1_000).apply(retryKey).state, scene.now);
    expect(tried.holders).toEqual(['a']);
    const probe = scene.apply(() => tried.state).granted('a');
    scene.report(probe, [scene.now], { accepted: true });
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual(['b', 'c']);
  });

  it('forgets a waiter that is gone', () => {
    const scene = new Scene({ requests: 1 }).spend(1).at(1);
    scene.waits('gone');
    scene.waits('b');
    scene.apply((state, at) => dropWaiter(state, 'gone', at));
    expect(scene.state.waiters.map(({ holder }) => holder)).toEqual(['b']);
  });

  it('wakes no waiter while the budget is blocked', () => {
    const scene = new Scene({ requests: 2 });
    const lease = scene.granted('a', { wants: 1 });
    scene.granted('a', { wants: 1 });
    scene.waits('b');
    scene.report(lease, [t0], { throttled: { retryAfterMs: 90_000 } });
    expect(bringWaitersForward(scene.state, t0).holders).toEqual([]);
  });

  it('wakes for the slots left after the waiters ahead', () => {
    const scene = new Scene({ requests: 4 });
    const leases = [scene.granted('x', { wants: 2 }), scene.granted('x', { wants: 2 })];
    scene.at(1);
    for (const holder of ['a', 'b', 'c']) scene.waits(holder);
    for (const lease of leases.slice(0, 1)) scene.report(lease, []);
    expect(bringWaitersForward(scene.state, scene.now).holders).toEqual(['a', 'b']);
  });

  it('tells when a place that keeps others waiting lapses', () => {
    const scene = new Scene().spend(10).at(1);
    scene.waits('a', { class: 'on-demand' });
    expect(nextChange(scene.state)).toBeNull();
    scene.at(2).waits('b', { class: 'on-demand' });
    expect(nextChange(scene.state)).toBe(t0 + occupancyMs + 5_000);
    expect(bringWaitersForward(scene.state, t0 + occupancyMs + 4_999).due).toBe(t0 + occupancyMs + 5_000);
    expect(bringWaitersForward(scene.state, t0 + occupancyMs + 5_000).due).toBeNull();
  });

  it('tells when the first of several places lapses', () => {
    const scene = new Scene({ requests: 1 }).spend(1).at(1_000);
    scene.waits('a', { class: 'on-demand' });
    expect(scene.waits('b', { class: 'on-demand' }).waitUntil).toBeGreaterThan(t0 + occupancyMs);
    expect(nextChange(scene.state)).toBe(t0 + occupancyMs + 5_000);
  });

  it('tells when one of several waiters rises, which can put it ahead', () => {
    const scene = new Scene({ requests: 2 }).spend(1).at(1_000).spend(1).at(2_000);
    scene.waits('a', { class: 'refresh' });
    expect(nextChange(scene.state)).toBeNull();
    scene.at(3_000).waits('b', { class: 'on-demand' });
    scene.waits('c', { class: 'on-demand' });
    const rises = 2_000 + settings.windowMs;
    scene.at(occupancyMs).granted('b', { class: 'on-demand' });
    expect(scene.at(occupancyMs + 1_000).waits('a', { class: 'refresh' }).behind).toEqual(['c']);
    expect(nextChange(scene.state)).toBe(t0 + rises);
    expect(bringWaitersForward(scene.state, t0 + rises - 1).holders).toEqual([]);
    expect(bringWaitersForward(scene.state, t0 + rises).holders).toEqual(['a']);
  });

  it('tells when one rises shortly before the slot for which another was told to come', () => {
    const scene = new Scene({ requests: 2 }).spend(1).at(58_000).spend(1).at(58_010);
    scene.waits('a', { class: 'refresh' });
    scene.at(occupancyMs).report(scene.granted('urgent', { class: 'on-demand', wants: 1 }), [scene.now]);
    expect(scene.waits('b', { class: 'on-demand', wants: 1 }).waitUntil).toBe(t0 + 58_000 + occupancyMs);
    expect(scene.waits('a', { class: 'refresh' }).waitUntil).toBe(t0 + 2 * occupancyMs);
    const rises = 58_010 + settings.windowMs;
    expect(bringWaitersForward(scene.state, t0 + 66_000).due).toBe(t0 + rises);
    expect(bringWaitersForward(scene.state, t0 + rises).holders).toEqual(['a']);
  });

  it('does not look at those that rise together', () => {
    const scene = new Scene().spend(10).at(1);
    for (const holder of ['a', 'b']) scene.waits(holder, { class: 'refresh' });
    expect(nextChange(scene.state)).toBe(t0 + occupancyMs + 5_000);
  });

  it('tells nothing without waiters', () => {
    const scene = new Scene();
    const lease = scene.granted('a', { wants: 1 });
    scene.report(lease, [t0], { throttled: { retryAfterMs: 1 } });
    expect(nextChange(scene.state)).toBeNull();
  });
});
