import { describe, expect, it } from 'vitest';
import { bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { occupancyMs, Scene, t0 } from '../../tools/window/window-support.ts';

const search = 'gateway:search';
/** A question of the program `search`, which may hold three of the ten slots. */
const third = { class: 'on-demand' as const, program: { share: 30 }, attemptAt: 0 };

describe('programs behind the gateway (B6)', () => {
  it('hold their share of the limit at most, whichever leases it came by', () => {
    const scene = new Scene();
    const two = scene.granted(search, { ...third, wants: 2 });
    expect(scene.granted(search, third).notBefore).toHaveLength(1);
    expect(scene.waits(search, third)).toMatchObject({ reason: 'share', waitUntil: t0 + occupancyMs });
    scene.at(5_000).report(two, [t0 + 4_000, t0 + 5_000]);
    expect(scene.waits(search, third)).toMatchObject({ reason: 'share' });
    expect(viewOf(scene.state, scene.now).programs).toEqual([{ workflowId: search, used: 3, share: 30 }]);
  });

  it('wait like a pass when the window is full, though all of it is theirs, if they have no share', () => {
    const scene = new Scene();
    for (let i = 0; i < 2; i += 1) scene.granted(search, { ...third, program: { share: null } });
    expect(scene.waits(search, { ...third, program: { share: null } }).reason).toBe('window-full');
    expect(scene.state.waiters).toHaveLength(1);
  });

  it('get back what they did not send, and each slot when its window is over', () => {
    const scene = new Scene();
    const lease = scene.granted(search, third);
    expect(lease.notBefore).toHaveLength(3);
    scene.report(lease, [t0]);
    expect(scene.granted(search, third).notBefore).toHaveLength(2);
    scene.at(occupancyMs - 1);
    expect(scene.waits(search, third).reason).toBe('share');
    scene.at(occupancyMs);
    expect(scene.granted(search, third).notBefore).toHaveLength(1);
  });

  it('follow a limit set by hand, and may always hold one slot', () => {
    const scene = new Scene({ requests: 2 });
    expect(scene.granted(search, third).notBefore).toHaveLength(1);
    expect(scene.waits(search, third).reason).toBe('share');
  });

  it('wait for nothing when their share is used up: no slot is kept free for them', () => {
    const scene = new Scene();
    scene.report(scene.granted(search, third), [t0, t0, t0]);
    scene.waits(search, third);
    expect(scene.state.waiters).toEqual([]);
    // All the rest goes to a pass, five at a time.
    const sizes = [scene.granted('sweep'), scene.granted('sweep')].map(({ notBefore }) => notBefore.length);
    expect(sizes[0]).toBe(5);
    expect(sizes[1]).toBe(2);
  });

  it('wait in the queue under their name, and are not woken: nothing signals what is no workflow', () => {
    const scene = new Scene();
    const all = [scene.granted('a'), scene.granted('b')];
    scene.waits(search, third);
    scene.waits('pass', { class: 'on-demand' });
    for (const lease of all) scene.report(lease, []);
    const { state, holders } = bringWaitersForward(scene.state, scene.now);
    expect(holders).toEqual(['pass']);
    // Its place is kept for as long as that of any waiter that could come.
    expect(state.waiters.find(({ holder }) => holder === search)).toMatchObject({ expectedAt: scene.now });
    expect(scene.granted(search, third).notBefore.length).toBeGreaterThan(0);
  });

  it('are forgotten when they hold nothing and do not wait', () => {
    const scene = new Scene();
    scene.report(scene.granted(search, third), [t0]);
    scene.at(occupancyMs);
    expect(viewOf(scene.state, scene.now).programs).toEqual([]);
  });

  it('ask from several gateways under one name, whatever their clocks say', () => {
    const scene = new Scene();
    scene.granted(search, { ...third, wants: 1 });
    scene.granted(search, { ...third, wants: 1 });
    expect(scene.state.leases).toHaveLength(2);
  });
});
