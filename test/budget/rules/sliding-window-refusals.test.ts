import { describe, expect, it } from 'vitest';
import { leaseMs } from '../../../src/budget/rules/permits.ts';
import { keyCheckStarted, report, retryKey } from '../../../src/budget/rules/window.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { nextChange, occupancyMs, Scene, settings, t0 } from '../../tools/window/window-support.ts';

const view = (scene: Scene) => viewOf(scene.state, scene.now);
const throttled = (retryAfterMs: number | null) => ({ throttled: { retryAfterMs } });

describe('after a 429', () => {
  /** The one request of a lease was refused, 100 ms after `t0`. */
  const refused = (retryAfterMs: number | null) => {
    const scene = new Scene({ requests: 100 });
    const lease = scene.granted('a', { wants: 2 });
    return scene.at(100).report(lease, [t0 + 100], throttled(retryAfterMs));
  };

  it('waits as long as the service says, up to a minute more than a window', () => {
    expect(view(refused(90_000)).pausedUntil).toBe(t0 + 90_100);
    expect(view(refused(5_000)).pausedUntil).toBe(t0 + 5_100);
    expect(view(refused(86_400_000)).pausedUntil).toBe(t0 + 120_100);
    expect(view(refused(-5)).pausedUntil).toBe(t0 + 1_100);
  });

  it('waits a twentieth of the window when the service does not say and no slot is occupied', () => {
    expect(view(refused(null)).pausedUntil).toBe(t0 + 3_100);
  });

  it('waits for its own oldest slot when that is later than what the service says', () => {
    const scene = new Scene();
    scene.at(10).spend(1);
    const lease = scene.at(30).granted('a', { wants: 1 });
    scene.at(50).report(lease, [t0 + 40], throttled(1_000));
    expect(view(scene).pausedUntil).toBe(t0 + 10 + occupancyMs);
  });

  it('waits only for its own oldest slot when the service does not say', () => {
    const scene = new Scene({ windowMs: 60_000 });
    scene.spend(1);
    const lease = scene.at(59_000).granted('a', { wants: 1 });
    scene.report(lease, [t0 + 59_000], throttled(null));
    expect(view(scene).pausedUntil).toBe(t0 + occupancyMs);
  });

  it('counts the earlier requests of the refused lease among its own slots', () => {
    const scene = new Scene();
    const lease = scene.granted('a');
    scene.at(50).report(lease, [t0 + 10, t0 + 20, t0 + 30], throttled(1_000));
    expect(view(scene).pausedUntil).toBe(t0 + 10 + occupancyMs);
  });

  it('counts the slots of other leases that are in use from the moment they may be used', () => {
    const scene = new Scene();
    scene.granted('b', { wants: 1 });
    const lease = scene.granted('a', { wants: 1 });
    scene.at(50).report(lease, [t0 + 50], throttled(1_000));
    expect(view(scene).pausedUntil).toBe(t0 + occupancyMs);
  });

  it('waits for the latest of several refusals', () => {
    const scene = new Scene();
    const [a, b] = [scene.granted('a', { wants: 1 }), scene.granted('b', { wants: 1 })];
    scene.at(50).report(a, [], throttled(200_000)).report(b, [], throttled(1_000));
    expect(view(scene)).toMatchObject({ pausedUntil: t0 + 120_050, pausedBy: 'throttled', throttledInWindow: 2 });
    expect(view(scene.at(50 + settings.windowMs - 1)).throttledInWindow).toBe(2);
    expect(view(scene.at(50 + settings.windowMs)).throttledInWindow).toBe(0);
  });

  it('sends one request before the others follow', () => {
    const scene = refused(90_000);
    expect(scene.at(90_099).waits('b')).toMatchObject({ reason: 'throttled', waitUntil: t0 + 91_099 });
    const probe = scene.at(90_100).granted('a');
    expect(probe.notBefore).toEqual([t0 + 90_100]);
    expect(scene.waits('b')).toMatchObject({ reason: 'probing', waitUntil: t0 + 90_100 + leaseMs });
    scene.at(90_110).report(probe, [scene.now], { accepted: true });
    expect(scene.granted('b').notBefore.length).toBeGreaterThan(1);
  });

  it('probes again when the probing worker died', () => {
    const scene = refused(90_000);
    scene.at(90_200).granted('a');
    expect(scene.at(90_200 + leaseMs - 1).ask('b').kind).toBe('wait');
    expect(scene.at(90_200 + leaseMs).granted('b').notBefore).toHaveLength(1);
    expect(scene.ask('c').kind).toBe('wait');
  });

  it('probes again when the probe got no answer', () => {
    for (const more of [{ accepted: false }, {}]) {
      const scene = refused(90_000);
      scene.at(90_200).report(scene.granted('a'), [scene.now], more);
      expect(scene.granted('b').notBefore).toHaveLength(1);
      expect(scene.ask('c').kind).toBe('wait');
    }
  });

  it('waits again when the probe is refused', () => {
    const scene = refused(90_000);
    scene.at(90_200).report(scene.granted('a'), [scene.now], throttled(5_000));
    expect(scene.waits('b')).toMatchObject({ reason: 'throttled', waitUntil: t0 + 95_200 });
    expect(scene.at(95_200).granted('b').notBefore).toHaveLength(1);
  });

  it('lets an earlier lease neither probe nor end the probing', () => {
    const scene = new Scene();
    const [a, b] = [scene.granted('a', { wants: 1 }), scene.granted('b', { wants: 1 })];
    scene.at(50).report(a, [], throttled(1_000)).report(b, [], { accepted: true });
    const { waitUntil, reason } = scene.waits('c');
    expect(reason).toBe('throttled');
    expect(scene.at(waitUntil - t0).granted('c').notBefore).toHaveLength(1);
    expect(scene.waits('d').reason).toBe('probing');
  });

  it('learns the use of other clients, without the refused request, which the service may not have counted', () => {
    const scene = new Scene({ requests: 100 });
    scene.spend(60);
    const lease = scene.at(100).granted('a');
    scene.at(200).report(lease, [t0 + 110, t0 + 120, t0 + 200], throttled(1_000));
    expect(view(scene)).toMatchObject({ otherClients: 100 - 62 + 2, reserve: 40, available: 0 });
  });

  it('learns from a refusal whose request is not among the arrivals', () => {
    const scene = new Scene({ requests: 100 }).spend(60);
    scene.at(200).report(scene.granted('a'), [], throttled(1_000));
    expect(view(scene).otherClients).toBe(42);
  });

  it('corrects what it took for requests of other clients and were its own', () => {
    const scene = new Scene({ requests: 100 });
    scene.spend(60);
    const [other, lease] = [scene.at(100).granted('b'), scene.granted('a')];
    scene.at(200).report(lease, [t0 + 150], throttled(1_000));
    expect(view(scene).otherClients).toBe(42);
    scene.at(900).report(other, [t0 + 150, t0 + 190, t0 + 201]);
    expect(view(scene).otherClients).toBe(40);
  });

  it('never takes its own refused request for an accepted one', () => {
    const scene = new Scene({ requests: 100 });
    scene.spend(60);
    const [other, lease] = [scene.at(100).granted('b'), scene.granted('a')];
    scene
      .at(200)
      .report(lease, [t0 + 150], throttled(1_000))
      .report(other, [t0 + 130, t0 + 140, t0 + 160], throttled(1_000));
    expect(view(scene).otherClients).toBe(40);
  });

  it('gives way to other clients for three windows, then tells that it may try again', () => {
    const scene = new Scene({ requests: 100 }).spend(60);
    const lease = scene.at(100).granted('a');
    scene.report(lease, [scene.now], throttled(1_000));
    scene.at(200).waits('b');
    expect(view(scene).otherClients).toBe(42);
    expect(nextChange(scene.state)).toBe(t0 + 100 + 3 * settings.windowMs);
    expect(view(scene.at(99 + 3 * settings.windowMs)).otherClients).toBe(42);
    expect(view(scene.at(100 + 3 * settings.windowMs)).otherClients).toBeNull();
  });

  it('waits after a repeated refusal or one of an unknown lease, but learns nothing from it', () => {
    const scene = refused(1_000);
    const { sightings } = scene.state;
    scene
      .at(50_000)
      .apply((state, at) => report(state, { leaseId: 'unknown', arrived: [at], ...throttled(7_000) }, at));
    expect(view(scene)).toMatchObject({ pausedBy: 'throttled', pausedUntil: t0 + 100 + occupancyMs });
    expect(scene.state.sightings).toEqual(sightings);
    expect(scene.state.spent).toEqual([t0 + 100]);
  });
});

describe('a refused key (401)', () => {
  const minute = 60_000;
  const refuse = (scene: Scene, holder = 'a', more = {}) =>
    scene.report(scene.granted(holder, { wants: 1, ...more }), [scene.now], { unauthorized: true });

  it('makes all askers wait a minute, then lets one try', () => {
    const scene = refuse(new Scene());
    expect(view(scene)).toMatchObject({ pausedBy: 'unauthorized', pausedUntil: t0 + minute, available: 0 });
    expect(scene.waits('b')).toMatchObject({ reason: 'unauthorized', waitUntil: t0 + minute });
    expect(scene.at(minute).granted('b').notBefore).toHaveLength(1);
    expect(scene.waits('c').reason).toBe('probing');
  });

  it('is tried at growing intervals, up to a quarter of an hour', () => {
    const scene = refuse(new Scene());
    const pauses: number[] = [];
    for (let tries = 0; tries < 6; tries += 1) {
      const next = view(scene).pausedUntil ?? 0;
      pauses.push((next - scene.now) / minute);
      refuse(scene.at(next - t0));
    }
    expect(pauses).toEqual([1, 2, 4, 8, 15, 15]);
    expect(scene.state.refusedKey).toMatchObject({ since: t0, triedAt: scene.now, tries: 7 });
  });

  it('does not grow the interval because several leases were in use when it was refused', () => {
    const scene = new Scene();
    const [a, b] = [scene.granted('a', { wants: 1 }), scene.granted('b', { wants: 1 })];
    scene.report(a, [t0], { unauthorized: true }).at(500).report(b, [t0], { unauthorized: true });
    expect(scene.state.refusedKey).toEqual({ since: t0, triedAt: t0 + 500, nextTryAt: t0 + 500 + minute, tries: 1 });
  });

  it('counts a probe reported too late as a try', () => {
    const scene = refuse(new Scene());
    const probe = scene.at(minute).granted('a');
    scene.at(minute + leaseMs + 1).report(probe, [scene.now], { unauthorized: true });
    expect(scene.state.refusedKey?.tries).toBe(2);
  });

  it('does not count a report of an unknown lease as a try', () => {
    const scene = refuse(new Scene()).apply((state, at) =>
      report(state, { leaseId: 'due', arrived: [], unauthorized: true }, at),
    );
    expect(scene.state.refusedKey?.tries).toBe(1);
  });

  it('is tried by a request on demand, but not again within five seconds, and by no other', () => {
    const scene = refuse(new Scene());
    expect(scene.at(4_999).waits('p', { class: 'on-demand' }).reason).toBe('unauthorized');
    expect(scene.at(5_000).waits('b', { class: 'refresh' }).reason).toBe('unauthorized');
    expect(scene.granted('p', { class: 'on-demand' }).notBefore).toHaveLength(1);
  });

  it('is tried at once when it may have been changed', () => {
    const scene = refuse(new Scene()).at(1_000).apply(retryKey);
    expect(view(scene).pausedBy).toBeNull();
    expect(scene.state.refusedKey).toEqual({ since: t0, triedAt: t0, nextTryAt: t0 + 1_000, tries: 1 });
    expect(scene.granted('b').notBefore).toHaveLength(1);
  });

  it('is left alone when it was not refused', () => {
    const scene = new Scene().at(10).apply(retryKey);
    expect(scene.state.refusedKey).toBeNull();
    expect(scene.state.now).toBe(t0 + 10);
  });

  it('is good again once the service accepts a request', () => {
    const scene = refuse(new Scene());
    const probe = scene.at(minute).granted('a');
    scene.report(probe, [scene.now], { accepted: true });
    expect(scene.state.refusedKey).toBeNull();
    expect(scene.granted('b').notBefore.length).toBeGreaterThan(1);
  });

  it('stays refused when the probe gets no answer', () => {
    const scene = refuse(new Scene());
    scene.at(minute).report(scene.granted('a'), [scene.now], { accepted: false });
    expect(scene.state.refusedKey?.tries).toBe(1);
    expect(scene.granted('b').notBefore).toHaveLength(1);
  });

  it('counts as refused even if the lease had an accepted request before', () => {
    const scene = new Scene();
    scene.report(scene.granted('a'), [t0, t0], { accepted: true, unauthorized: true });
    expect(view(scene).pausedBy).toBe('unauthorized');
  });
});

describe('a 401 to a program behind the gateway', () => {
  const minute = 60_000;
  const program = { class: 'on-demand' as const, wants: 1, program: { share: null } };
  const doubt = (scene: Scene) => scene.report(scene.granted('gateway:g', program), [scene.now], { doubted: true });
  const started = (scene: Scene) => scene.apply(keyCheckStarted);

  it('stops nobody, and asks for one check in a quarter of an hour', () => {
    const scene = doubt(new Scene());
    expect(scene.state).toMatchObject({ refusedKey: null, probe: null, keyChecks: { due: true } });
    expect(view(scene)).toMatchObject({ pausedBy: null });
    expect(scene.granted('a').notBefore.length).toBeGreaterThan(1);
    started(scene);
    expect(doubt(scene.at(14 * minute)).state.keyChecks).toEqual({ startedAt: t0, due: false });
    expect(doubt(scene.at(15 * minute)).state.keyChecks.due).toBe(true);
  });

  it('counts the request, and keeps the word of an accepted one of the same lease', () => {
    const scene = new Scene();
    scene.report(scene.granted('gateway:g', { ...program, wants: 2 }), [t0, t0], { accepted: true, doubted: true });
    expect(scene.state.spent).toEqual([t0, t0]);
    expect(scene.state.refusedKey).toBeNull();
  });

  it('leaves a refused key refused when the rest of a reported lease was accepted before', () => {
    const scene = new Scene();
    const gateway = scene.granted('gateway:g', { ...program, wants: 2 });
    const sync = scene.granted('sync', { wants: 1 });
    const full = { throttled: { retryAfterMs: 1_000 } };
    scene.report(gateway, [t0, t0 + 100], { accepted: true, ...full });
    scene.at(100).report(sync, [scene.now], { unauthorized: true });
    scene.at(200).report(gateway, [t0, t0 + 100], { accepted: true, doubted: true });
    expect(scene.state.refusedKey).toMatchObject({ since: t0 + 100, tries: 1 });
  });

  it('ends the probe after a 429: the window has room, whatever the path is worth', () => {
    const scene = new Scene();
    scene.report(scene.granted('a', { wants: 1 }), [t0], { throttled: { retryAfterMs: 1_000 } });
    scene.at(4 * minute);
    expect(doubt(scene).state.probe).toBeNull();
    expect(scene.granted('a').notBefore.length).toBeGreaterThan(1);
  });

  it('leaves the probe due when the window is full again', () => {
    const scene = new Scene();
    const full = { throttled: { retryAfterMs: 1_000 } };
    scene.report(scene.granted('a', { wants: 1 }), [t0], full);
    scene.at(4 * minute);
    scene.report(scene.granted('gateway:g', program), [scene.now], { doubted: true, ...full });
    scene.at(8 * minute);
    expect(scene.granted('a').notBefore).toHaveLength(1);
  });

  it('never tries a refused key: a check does, when a try is due', () => {
    const scene = new Scene();
    scene.report(scene.granted('a', { wants: 1 }), [t0], { unauthorized: true });
    expect(scene.at(10_000).waits('gateway:g', program)).toMatchObject({
      reason: 'unauthorized',
      waitUntil: t0 + minute,
    });
    expect(scene.state.keyChecks.due).toBe(false);
    expect(scene.at(minute).waits('gateway:g', program)).toMatchObject({ waitUntil: t0 + minute + 5_000 });
    expect(scene.state.keyChecks.due).toBe(true);
    started(scene)
      .at(minute + 5_000)
      .waits('gateway:g', program);
    expect(scene.state.keyChecks.due).toBe(false);
    scene.report(scene.granted('check:acme', { class: 'on-demand' }), [scene.now], { accepted: true });
    expect(scene.granted('gateway:g', program).notBefore).toHaveLength(1);
  });
});
