import { describe, expect, it } from 'vitest';
import { ask, horizonMs } from '../../../src/budget/rules/grant-or-wait.ts';
import { leaseMs } from '../../../src/budget/rules/permits.ts';
import { advance, report, setPause } from '../../../src/budget/rules/window.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { frozen, occupancyMs, question, Scene, settings, t0 } from '../../tools/window/window-support.ts';

const used = (scene: Scene) => viewOf(scene.state, scene.now).used;

describe('a sliding window', () => {
  it('spends the whole limit at once, in leases, then says when to come back (B2)', () => {
    const scene = new Scene();
    expect(scene.granted('a')).toMatchObject({
      grantedAt: t0,
      useBy: t0 + leaseMs,
      arrivalMs: 30_000,
      notBefore: [t0, t0, t0, t0, t0],
    });
    expect(scene.granted('a').notBefore).toHaveLength(5);
    expect(scene.waits('a')).toMatchObject({ now: t0, waitUntil: t0 + occupancyMs, place: 1, behind: [] });
    expect(used(scene)).toBe(10);
  });

  it('keeps a reported slot occupied for one window after its arrival', () => {
    const scene = new Scene();
    const lease = scene.granted('a', { wants: 1 });
    scene.at(600).report(lease, [t0 + 500]);
    expect(used(scene.at(500 + occupancyMs - 1))).toBe(1);
    expect(used(scene.at(500 + occupancyMs))).toBe(0);
  });

  it('keeps an unreported slot occupied for one window after its request could have arrived', () => {
    const scene = new Scene();
    scene.granted('a', { wants: 1 });
    const gone = leaseMs + settings.arrivalMs + occupancyMs;
    expect(used(scene.at(gone - 1))).toBe(1);
    expect(used(scene.at(gone))).toBe(0);
  });

  it('keeps each slot occupied a ten-thousandth of the window longer, at least 20 ms', () => {
    const hour = new Scene({ windowMs: 3_600_000, requests: 1 });
    hour.spend(1);
    expect(hour.waits('a').waitUntil).toBe(t0 + 3_600_000 + 360);
    const second = new Scene({ windowMs: 1_000, requests: 1 });
    second.spend(1);
    expect(second.granted('a').notBefore).toEqual([t0 + 1_020]);
  });

  it('takes unused permits back at once', () => {
    const scene = new Scene();
    const lease = scene.granted('a');
    expect(used(scene)).toBe(5);
    expect(used(scene.report(lease, [t0]))).toBe(1);
  });

  it('accepts no arrival before its permit, later than D after the report, or without a permit', () => {
    const scene = new Scene();
    const early = scene.granted('a', { wants: 1 });
    expect(scene.report(early, [t0 - 5_000]).state.spent).toEqual([t0]);
    const late = scene.granted('a', { wants: 1 });
    expect(scene.report(late, [t0 + 3_600_000, t0]).state.spent).toEqual([t0, t0 + settings.arrivalMs]);
  });

  it('charges a request that a stopped process sent after its lease', () => {
    const scene = new Scene();
    const lease = scene.granted('a', { wants: 1 });
    const woken = leaseMs + settings.arrivalMs + 20_000;
    scene.at(woken).report(lease, [t0 + woken]);
    expect(scene.state.spent).toEqual([t0 + woken]);
  });

  it('keeps arrivals in order, whatever the order of reports', () => {
    const scene = new Scene();
    const [first, second] = [scene.granted('a', { wants: 2 }), scene.granted('b', { wants: 2 })];
    scene
      .at(900)
      .report(second, [t0 + 200, t0 + 800])
      .report(first, [t0 + 500, t0 + 100]);
    expect(scene.state.spent).toEqual([t0 + 100, t0 + 200, t0 + 500, t0 + 800]);
  });

  it('ignores a repeated report', () => {
    const scene = new Scene();
    const lease = scene.granted('a');
    scene.report(lease, [t0]);
    const { state } = scene;
    expect(scene.report(lease, [t0, t0, t0]).state).toEqual(state);
  });

  it('grants permits that come free within the horizon, each with its moment', () => {
    const scene = new Scene();
    for (let i = 0; i < 10; i += 1) scene.at(i * 100).spend(1);
    const at = 60_000 - 50;
    const { notBefore } = scene.at(at).granted('a');
    expect(notBefore).toEqual([0, 1, 2, 3, 4].map((i) => t0 + i * 100 + occupancyMs));
    expect(notBefore.at(-1)).toBeLessThanOrEqual(t0 + at + horizonMs);
  });

  it('grants up to the horizon and not a millisecond more', () => {
    const scene = new Scene({ requests: 1 }).spend(1);
    expect(scene.at(occupancyMs - horizonMs - 1).ask('a').kind).toBe('wait');
    expect(scene.at(occupancyMs - horizonMs).granted('a').notBefore).toEqual([t0 + occupancyMs]);
  });

  it('occupies the slot of a later permit from the moment it may be used', () => {
    const scene = new Scene({ requests: 1 }).spend(1);
    const lease = scene.at(occupancyMs - 1_000).granted('a');
    expect(scene.report(lease, [t0 + occupancyMs - 500]).state.spent).toEqual([t0, t0 + occupancyMs]);
  });

  it('makes a refused asker wait at least a second', () => {
    const scene = new Scene().apply((state, at) => setPause(state, { until: at + 100 }, at));
    expect(scene.waits('a').waitUntil).toBe(t0 + 1_000);
  });

  it('answers a repeated question with the same lease and charges it once', () => {
    const scene = new Scene();
    const same = question('a');
    const [state, first] = ask(scene.state, same, t0);
    const [again, second] = ask(frozen(state), same, t0 + 3_000);
    expect(second).toEqual(first);
    expect(viewOf(again, t0 + 3_000).used).toBe(5);
  });

  it('grants nothing to a question that was returned before it came', () => {
    const scene = new Scene().apply((state, at) => report(state, { leaseId: 'late', arrived: [] }, at));
    expect(scene.ask('a', { id: 'late' })).toEqual({ kind: 'superseded' });
    expect(viewOf(scene.state, scene.now)).toMatchObject({ used: 0, holders: [], waiters: [] });
    expect(scene.granted('a').notBefore).toHaveLength(5);
  });

  it('remembers the last two hundred returned questions', () => {
    const scene = new Scene();
    for (let i = 0; i < 201; i += 1) {
      scene.apply((state, at) => report(state, { leaseId: `q${i}`, arrived: [] }, at));
    }
    expect(scene.state.returned).toEqual(Array.from({ length: 200 }, (_, i) => `q${i + 1}`));
  });

  it('refuses an attempt older than the latest seen', () => {
    const scene = new Scene();
    scene.granted('a', { attemptAt: 50 });
    expect(scene.ask('a', { attemptAt: 49 })).toEqual({ kind: 'superseded' });
    expect(scene.ask('a', { attemptAt: 50 }).kind).toBe('granted');
    expect(scene.ask('b', { attemptAt: 1 }).kind).toBe('wait');
  });

  it('remembers the latest attempts of those present and of twenty that left, cleared now and then', () => {
    const scene = new Scene();
    for (let i = 0; i < 3; i += 1) scene.granted(`here${i}`, { wants: 1, attemptAt: 5 });
    const leave = (name: string, attemptAt: number) =>
      scene.report(scene.granted(name, { wants: 1, attemptAt }), []).apply(advance);
    // In whatever order they asked.
    for (let i = 0; i < 39; i += 1) leave(`h${i}`, 100 - i);
    expect(scene.state.attempts).toHaveLength(3 + 39);
    expect(scene.ask('h38', { attemptAt: 61 })).toEqual({ kind: 'superseded' });
    leave('last', 61);
    const known = scene.state.attempts.map(({ holder }) => holder);
    expect(known).toHaveLength(3 + 20);
    expect(known).toEqual(expect.arrayContaining(['here0', 'here1', 'here2', 'h0', 'h19']));
    expect(scene.ask('here0', { attemptAt: 4 })).toEqual({ kind: 'superseded' });
    expect(scene.ask('h0', { attemptAt: 99 })).toEqual({ kind: 'superseded' });
    expect(scene.granted('last', { attemptAt: 9 }).kind).toBe('granted');
  });

  it('remembers the turns of those present, however many others were served since', () => {
    const scene = new Scene().spend(10, 'here');
    scene.at(1).waits('here');
    scene.at(occupancyMs);
    for (let i = 0; i < 25; i += 1) scene.report(scene.granted(`h${i}`, { wants: 1 }), []);
    expect(scene.at(occupancyMs + 1).apply(advance).state.served).toContainEqual({ turn: 'prj_here refresh', at: t0 });
  });

  it('keeps the first lease charged when a second attempt asks again', () => {
    const scene = new Scene();
    const [first, second] = [scene.granted('a', { attemptAt: 1 }), scene.at(5_000).granted('a', { attemptAt: 2 })];
    expect(used(scene)).toBe(first.notBefore.length + second.notBefore.length);
  });

  describe('a lease', () => {
    const roomy = { requests: 100 };
    it('has ten permits for a single asker, fewer if fewer are wanted, at least one', () => {
      const scene = new Scene(roomy);
      expect(scene.granted('a').notBefore).toHaveLength(10);
      expect(scene.granted('a').notBefore).toHaveLength(10);
      expect(scene.granted('a', { wants: 3.7 }).notBefore).toHaveLength(3);
      expect(scene.granted('a', { wants: 0 }).notBefore).toHaveLength(1);
    });

    it('has a page while others wait that are as urgent, and ten when they are served', () => {
      const scene = new Scene({ requests: 20 }).spend(20).at(1_000);
      for (const holder of ['a', 'b']) scene.waits(holder);
      scene.waits('person', { class: 'on-demand' });
      // What comes later anyway shrinks no lease.
      expect(scene.at(occupancyMs).granted('person', { class: 'on-demand' }).notBefore).toHaveLength(10);
      expect(scene.granted('a').notBefore).toHaveLength(1);
      expect(scene.granted('b').notBefore).toHaveLength(9);
    });

    it('takes at most half of a small limit', () => {
      expect(new Scene({ requests: 7 }).granted('a').notBefore).toHaveLength(4);
      expect(new Scene({ requests: 1 }).granted('a').notBefore).toHaveLength(1);
    });
  });

  it('never lets time run backwards', () => {
    const scene = new Scene().at(5_000).spend(1);
    expect(scene.at(0).granted('a').grantedAt).toBe(t0 + 5_000);
  });

  it('keeps its state small and made of plain JSON', () => {
    const scene = new Scene({ requests: 100 });
    for (let i = 0; i < 10; i += 1)
      scene.report(scene.granted('sync:acme:prj_1:sweep', { wants: 10 }), Array(10).fill(t0));
    for (let i = 0; i < 5; i += 1) scene.waits(`sync:acme:prj_${i}:sweep`);
    const json = JSON.stringify(scene.state);
    expect(JSON.parse(json)).toEqual(scene.state);
    expect(json.length).toBeLessThan(4_096);
  });
});
