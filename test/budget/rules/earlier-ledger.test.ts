import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastGrantOf, untilNow, windowAfter, windowAfterReset } from '../../../src/budget/rules/carry-window.ts';
import { ask } from '../../../src/budget/rules/grant-or-wait.ts';
import { leaseMs } from '../../../src/budget/rules/permits.ts';
import { configure, setOverride, setPause, wasAhead } from '../../../src/budget/rules/window.ts';
import { viewOf, windowFacts } from '../../../src/budget/rules/window-view.ts';
import { granted, occupancyMs, question, Scene, settings, t0, waits } from '../../tools/window/window-support.ts';

const iso = (ms: number) => new Date(ms).toISOString();
const lastArrival = leaseMs + settings.arrivalMs;

describe('a new ledger (B7)', () => {
  it('grants at once when there are no signs of an earlier one', () => {
    expect(granted(ask(windowAfter(settings, null, t0), question('a'), t0)[1]).notBefore).toHaveLength(5);
  });

  it('grants nothing until the last permit of an earlier one has arrived, plus one window', () => {
    const state = windowAfter(settings, t0 - 1_000, t0);
    const free = t0 - 1_000 + lastArrival + occupancyMs;
    expect(viewOf(state, t0)).toMatchObject({ available: 0, nextFreeAt: free, countsAsFullUntil: free });
    const why = [
      'counts as full',
      expect.stringMatching(/^the ledger was lost or reset, or its clock was ahead: nothing is granted until /),
    ];
    expect(windowFacts(viewOf(state, t0), t0)).toContainEqual(why);
    expect(viewOf(state, free).countsAsFullUntil).toBeNull();
    expect(waits(ask(state, question('a'), t0)[1])).toMatchObject({ waitUntil: free, reason: 'window-full' });
    expect(waits(ask(state, question('a'), free - 1)[1]).reason).toBe('window-full');
    expect(granted(ask(state, question('a'), free)[1]).notBefore).toHaveLength(5);
  });

  it('does not wait for signs older than that', () => {
    const old = t0 - lastArrival - occupancyMs;
    expect(granted(ask(windowAfter(settings, old, t0), question('a'), t0)[1]).kind).toBe('granted');
  });

  it('waits longer when the window turns out to be longer', () => {
    const longer = { ...settings, windowMs: 2 * settings.windowMs };
    const state = configure(windowAfter(settings, t0, t0), longer, t0);
    expect(waits(ask(state, question('a'), t0 + lastArrival + occupancyMs)[1]).reason).toBe('window-full');
  });

  it('takes a sign from the future as one from now', () => {
    expect(windowAfter(settings, untilNow, t0)).toEqual(windowAfter(settings, t0, t0));
  });

  it('finds signs in passes that sent requests', () => {
    expect(lastGrantOf([])).toBeNull();
    expect(lastGrantOf([{ requests: 0, finishedAt: null }])).toBeNull();
    const ended = [t0 - 5_000, t0 - 9_000].map((moment) => ({ requests: 3, finishedAt: iso(moment) }));
    expect(lastGrantOf(ended)).toBe(t0 - 5_000);
    expect(lastGrantOf([...ended, { requests: 1, finishedAt: null }])).toBe(untilNow);
    // Since its backup a restored store knows nothing.
    expect(lastGrantOf([], new Date(t0))).toBe(t0);
    expect(lastGrantOf(ended, new Date(t0))).toBe(t0);
    expect(lastGrantOf(ended, new Date(t0 - 60_000))).toBe(t0 - 5_000);
  });

  it('never lets both ledgers together send more than the limit (B1)', () => {
    const moment = fc.nat(20_000);
    fc.assert(
      fc.property(fc.array(moment, { minLength: 1, maxLength: 4 }), moment, moment, (pauses, lostAfter, later) => {
        const scene = new Scene();
        // The latest moment at which each permit's request can arrive, as it does when its worker is slow.
        let latest = 0;
        for (const pause of pauses) {
          scene.at(scene.now - t0 + pause);
          const answer = scene.ask('a', { attemptAt: scene.now, wants: 3 });
          if (answer.kind === 'granted') latest = Math.max(latest, answer.useBy + answer.arrivalMs);
        }
        const lostAt = scene.now + lostAfter;
        const successor = windowAfter(settings, lostAt, lostAt + later);
        const answer = ask(successor, question('b'), lostAt + later)[1];
        const first = answer.kind === 'wait' ? answer.waitUntil : lostAt + later;
        expect(first - latest).toBeGreaterThanOrEqual(settings.windowMs);
      }),
    );
  });
});

describe('a ledger whose clock was ahead (B1, B7)', () => {
  const ahead = 30 * 86_400_000;
  const filled = ['a', 'c'].reduce(
    (state, holder) => ask(state, question(holder), t0 + ahead)[0],
    windowAfter(settings, null, t0 + ahead),
  );

  it('is one once the clock is right again, if a window is the shorter wait', () => {
    const span = settings.windowMs + lastArrival;
    expect([span - 1, span, span + 1].map((late) => wasAhead(filled, t0 + ahead - late))).toEqual([false, false, true]);
    expect(wasAhead(filled, t0 + ahead + span)).toBe(false);
  });

  it('grants again one window after the last request of its earlier leases can have arrived', () => {
    const [waiting] = ask(filled, question('b'), t0 + ahead);
    const state = windowAfterReset(waiting, t0);
    const free = t0 + lastArrival + occupancyMs;
    expect(viewOf(state, t0)).toMatchObject({ available: 0, countsAsFullUntil: free });
    expect(state.waiters.map(({ holder, since }) => [holder, since])).toEqual([['b', t0]]);
    expect(waits(ask(state, question('b'), free - 1)[1]).reason).toBe('window-full');
    expect(granted(ask(state, question('b'), free)[1]).grantedAt).toBe(free);
  });

  it('keeps what people asked for, for as long as was left', () => {
    const asked = setPause(
      setOverride(filled, { requests: 3, until: null }, t0 + ahead),
      { until: t0 + ahead + 9 },
      t0,
    );
    expect(windowAfterReset(asked, t0)).toMatchObject({
      override: { requests: 3, until: null },
      paused: { until: t0 + 9 },
    });
  });
});
