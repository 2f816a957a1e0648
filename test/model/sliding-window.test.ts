import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PermitAnswer, PermitAsk, WindowSettings } from '../../src/model/permits.ts';
import {
  ask,
  capacityOf,
  configure,
  earlierThanTold,
  emptyWindow,
  firstLapse,
  horizonMs,
  leaseMs,
  report,
  slackOf,
  viewOf,
  type WindowState,
} from '../../src/model/sliding-window.ts';

const settings: WindowSettings = { requests: 10, reserve: 0, windowMs: 60_000, arrivalMs: 30_000 };
const t0 = 1_000_000;
const slackMs = slackOf(settings.windowMs);

let asked = 0;
const question = (holder: string, more: Partial<PermitAsk> = {}): PermitAsk => {
  asked += 1;
  return { id: `ask-${asked}`, holder, class: 'sweep', wants: 20, attemptAt: 1, ...more };
};

type Granted = PermitAnswer & { kind: 'granted' };
const granted = (answer: PermitAnswer): Granted => {
  if (answer.kind !== 'granted') throw new Error(`not granted but ${answer.kind}`);
  return answer;
};
const waits = (answer: PermitAnswer) => {
  if (answer.kind !== 'wait') throw new Error(`no wait but ${answer.kind}`);
  return answer;
};

/** Asks and uses every permit at once, until the window is full. */
function fill(state: WindowState, holder: string, at: number): WindowState {
  let window = state;
  for (;;) {
    const [next, answer] = ask(window, question(holder), at);
    window = next;
    if (answer.kind !== 'granted') return { ...window, waiters: [] };
    window = report(window, { leaseId: answer.leaseId, arrived: answer.notBefore.map(() => at) }, at);
  }
}

describe('a sliding window', () => {
  it('spends the whole limit at once, in leases, and then says when to come back (B2)', () => {
    let window = emptyWindow(settings, t0);
    let permits = 0;
    for (;;) {
      const [next, answer] = ask(window, question('a'), t0);
      window = next;
      if (answer.kind !== 'granted') {
        expect(answer).toMatchObject({ kind: 'wait', waitUntil: t0 + 60_000 + slackMs, place: 1, behind: [] });
        break;
      }
      permits += answer.notBefore.length;
    }
    expect(permits).toBe(10);
  });

  it('holds a reported slot for one window after its arrival and an unreported one until it could arrive no more', () => {
    let [window, first] = ask(emptyWindow(settings, t0), question('a', { wants: 1 }), t0);
    window = report(window, { leaseId: granted(first).leaseId, arrived: [t0 + 500] }, t0 + 600);
    expect(viewOf(window, t0 + 60_500 + slackMs - 1).used).toBe(1);
    expect(viewOf(window, t0 + 60_500 + slackMs).used).toBe(0);

    [window, first] = ask(emptyWindow(settings, t0), question('a', { wants: 1 }), t0);
    const gone = t0 + leaseMs + settings.arrivalMs + settings.windowMs + slackMs;
    expect(viewOf(window, gone - 1).used).toBe(1);
    expect(viewOf(window, gone).used).toBe(0);
  });

  it('gives unused permits back at once', () => {
    const [window, answer] = ask(emptyWindow(settings, t0), question('a'), t0);
    expect(viewOf(window, t0).used).toBe(granted(answer).notBefore.length);
    expect(viewOf(report(window, { leaseId: granted(answer).leaseId, arrived: [] }, t0), t0).used).toBe(0);
  });

  it('grants permits that come free within the horizon, each with its moment', () => {
    let window = emptyWindow(settings, t0);
    for (let i = 0; i < 10; i += 1) {
      const [next, answer] = ask(window, question('a', { wants: 1 }), t0 + i * 100);
      window = report(next, { leaseId: granted(answer).leaseId, arrived: [t0 + i * 100] }, t0 + i * 100);
    }
    const at = t0 + 60_000 - 50;
    const { notBefore } = granted(ask(window, question('a'), at)[1]);
    expect(notBefore).toEqual([0, 1, 2, 3, 4].map((i) => t0 + 60_000 + i * 100 + slackMs));
    expect(Math.max(...notBefore)).toBeLessThanOrEqual(at + horizonMs);
  });

  it('answers a repeated question with the same lease and charges it once', () => {
    const same = question('a');
    const [window, first] = ask(emptyWindow(settings, t0), same, t0);
    const [again, second] = ask(window, same, t0 + 3_000);
    expect(second).toEqual(first);
    expect(viewOf(again, t0 + 3_000).used).toBe(viewOf(window, t0).used);
  });

  it('refuses an older attempt than the latest it has seen', () => {
    const [window] = ask(emptyWindow(settings, t0), question('a', { attemptAt: 50 }), t0);
    expect(ask(window, question('a', { attemptAt: 49 }), t0)[1]).toEqual({ kind: 'superseded' });
    expect(ask(window, question('a', { attemptAt: 51 }), t0)[1].kind).toBe('granted');
  });

  it('refuses an older attempt that wakes up after the newer one has reported, and forgets long lists', () => {
    let [window, answer] = ask(emptyWindow(settings, t0), question('a', { attemptAt: 50 }), t0);
    window = report(window, { leaseId: granted(answer).leaseId, arrived: [] }, t0 + 1);
    expect(ask(window, question('a', { attemptAt: 49 }), t0 + 2)[1]).toEqual({ kind: 'superseded' });
    for (let i = 0; i < 100; i += 1) {
      [window, answer] = ask(window, question(`h${i}`, { wants: 1, attemptAt: 100 + i }), t0 + 3);
      window = report(window, { leaseId: granted(answer).leaseId, arrived: [] }, t0 + 3);
    }
    expect(Object.keys(window.attempts).length).toBeLessThan(30);
  });

  it('keeps the first lease charged when a second attempt asks anew', () => {
    const [window, first] = ask(emptyWindow(settings, t0), question('a', { attemptAt: 1 }), t0);
    const [after, second] = ask(window, question('a', { attemptAt: 2 }), t0 + 5_000);
    expect(viewOf(after, t0 + 5_000).used).toBe(granted(first).notBefore.length + granted(second).notBefore.length);
  });

  it('serves waiters in the order they came and gives each a time of its own', () => {
    let window = emptyWindow(settings, t0);
    for (let i = 0; i < 10; i += 1) {
      const [next, answer] = ask(window, question('x', { wants: 1 }), t0 + i * 4_000);
      window = report(next, { leaseId: granted(answer).leaseId, arrived: [t0 + i * 4_000] }, t0 + i * 4_000);
    }
    const at = t0 + 50_000;
    let answer: PermitAnswer;
    [window, answer] = ask(window, question('a'), at);
    expect(waits(answer).waitUntil).toBe(t0 + 60_000 + slackMs);
    [window, answer] = ask(window, question('b'), at);
    expect(waits(answer)).toMatchObject({ place: 2, behind: ['a'], waitUntil: t0 + 64_000 + slackMs });
    // b comes too early and must not take the slot a waits for
    [window, answer] = ask(window, question('b'), t0 + 60_000 + slackMs);
    expect(answer.kind).toBe('wait');
    [window, answer] = ask(window, question('a'), t0 + 60_010 + slackMs);
    expect(granted(answer).notBefore).toEqual([t0 + 60_010 + slackMs]);
  });

  it('lets a waiter that does not come back lose its place', () => {
    let window = fill(emptyWindow(settings, t0), 'x', t0);
    let answer: PermitAnswer;
    [window, answer] = ask(window, question('dead'), t0 + 1);
    [window, answer] = ask(window, question('b'), t0 + 70_000);
    expect(answer.kind).toBe('granted');
    expect(viewOf(window, t0 + 70_000).waiters).toEqual([]);
  });

  it('gives no place to an asker that will not come back', () => {
    const full = fill(emptyWindow(settings, t0), 'x', t0);
    const [window, answer] = ask(full, question('check', { mayWait: false }), t0 + 1);
    expect(answer.kind).toBe('wait');
    expect(viewOf(window, t0 + 1).waiters).toEqual([]);
  });

  it('says when a place lapses that keeps others waiting', () => {
    let window = fill(emptyWindow(settings, t0), 'x', t0);
    [window] = ask(window, question('a'), t0 + 1);
    expect(firstLapse(window)).toBeNull();
    [window] = ask(window, question('b'), t0 + 2);
    expect(firstLapse(window)).toBe(t0 + 60_000 + slackMs + 5_000);
    expect(earlierThanTold(window, t0 + 66_000).state.waiters).toEqual([]);
  });

  it('shrinks leases when others hold or wait', () => {
    const roomy = { ...settings, requests: 100 };
    let [window, answer] = ask(emptyWindow(roomy, t0), question('a'), t0);
    expect(granted(answer).notBefore).toHaveLength(10);
    [window, answer] = ask(window, question('b'), t0);
    expect(granted(answer).notBefore).toHaveLength(5);
  });

  it('wakes waiters when permits come back much earlier than they were told', () => {
    const [leased, first] = ask(emptyWindow({ ...settings, requests: 5 }, t0), question('a'), t0);
    let [window] = ask(leased, question('a'), t0);
    window = { ...window, waiters: [] };
    [window] = ask(window, question('b'), t0);
    const returned = report(window, { leaseId: granted(first).leaseId, arrived: [] }, t0 + 100);
    const { state, holders } = earlierThanTold(returned, t0 + 100);
    expect(holders).toEqual(['b']);
    expect(earlierThanTold(state, t0 + 100).holders).toEqual([]);
  });

  it('lets a smaller limit bind at once', () => {
    const window = configure(fill(emptyWindow(settings, t0), 'a', t0), { ...settings, requests: 4 }, t0 + 1);
    expect(ask(window, question('a'), t0 + 2)[1].kind).toBe('wait');
    expect(viewOf(window, t0 + 2)).toMatchObject({ limit: 4, used: 10, available: 0 });
  });

  it('leaves the reserve to others', () => {
    expect(capacityOf({ ...settings, reserve: 7 })).toBe(3);
    const window = fill(emptyWindow({ ...settings, reserve: 7 }, t0), 'a', t0);
    expect(viewOf(window, t0).used).toBe(3);
  });

  describe('after a 429', () => {
    const throttled = (retryAfterMs: number | null, at = t0 + 100) => {
      const [window, answer] = ask(emptyWindow(settings, t0), question('a', { wants: 2 }), t0);
      return report(window, { leaseId: granted(answer).leaseId, arrived: [at], throttled: { retryAfterMs } }, at);
    };

    it('waits as long as the service says, which is believed up to little more than a window', () => {
      expect(viewOf(throttled(90_000), t0 + 100).pausedUntil).toBe(t0 + 90_100);
      expect(viewOf(throttled(5_000), t0 + 100).pausedUntil).toBe(t0 + 5_100);
      expect(viewOf(throttled(86_400_000), t0 + 100).pausedUntil).toBe(t0 + 120_100);
    });

    it('waits a twentieth of the window when the service does not say and we hold no slot', () => {
      expect(viewOf(throttled(null), t0 + 100).pausedUntil).toBe(t0 + 3_100);
    });

    it('waits for its own oldest slot when that is later than what the service says', () => {
      let [window, answer] = ask(emptyWindow(settings, t0), question('a', { wants: 1 }), t0);
      window = report(window, { leaseId: granted(answer).leaseId, arrived: [t0 + 10] }, t0 + 20);
      [window, answer] = ask(window, question('a', { wants: 1 }), t0 + 30);
      const refused = { leaseId: granted(answer).leaseId, arrived: [t0 + 40], throttled: { retryAfterMs: 1_000 } };
      expect(viewOf(report(window, refused, t0 + 50), t0 + 50).pausedUntil).toBe(t0 + 60_010 + slackMs);
    });

    it('sends one request before the others follow', () => {
      const paused = throttled(90_000);
      const at = t0 + 90_200;
      expect(ask(paused, question('b'), at - 1_000)[1].kind).toBe('wait');
      let [window, answer] = ask(paused, question('a'), at);
      const probe = granted(answer);
      expect(probe.notBefore).toHaveLength(1);
      [window, answer] = ask(window, question('b'), at);
      expect(answer.kind).toBe('wait');
      window = report(window, { leaseId: probe.leaseId, arrived: [at + 10] }, at + 10);
      expect(granted(ask(window, question('b'), at + 20)[1]).notBefore.length).toBeGreaterThan(1);
    });

    it('probes anew when the probing worker died', () => {
      let window = throttled(90_000);
      const at = t0 + 90_200;
      [window] = ask(window, question('a'), at);
      expect(ask(window, question('b'), at + leaseMs - 1)[1].kind).toBe('wait');
      expect(granted(ask(window, question('b'), at + leaseMs)[1]).notBefore).toHaveLength(1);
    });
  });
});

/** The most moments in any half-open interval of the window's length. */
function mostInAnyWindow(moments: readonly number[], windowMs: number): number {
  const sorted = [...moments].sort((a, b) => a - b);
  let most = 0;
  for (let from = 0, to = 0; to < sorted.length; to += 1) {
    while ((sorted[to] ?? 0) - (sorted[from] ?? 0) >= windowMs) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

describe('whatever askers, workers and messages do', () => {
  const step = fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 40_000 })),
    holder: fc.constantFrom('a', 'b', 'c'),
    wants: fc.integer({ min: 1, max: 20 }),
    /** How many permits are used before the worker reports or dies. */
    uses: fc.integer({ min: 0, max: 20 }),
    pace: fc.integer({ min: 1, max: 4_000 }),
    /** Time from the check to the arrival, up to D. */
    flight: fc.integer({ min: 0, max: settings.arrivalMs }),
    fate: fc.constantFrom('reports', 'reports', 'reports twice', 'dies', 'throttled'),
    repeatsQuestion: fc.boolean(),
  });

  it('never lets more requests arrive in any window than the limit (B1), and never grants what it cannot tell of', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 80 }),
        fc.integer({ min: 1, max: 12 }),
        (steps, requests) => {
          const limits = { ...settings, requests };
          let window = emptyWindow(limits, t0);
          let now = t0;
          const arrivals: number[] = [];
          // Reports reach the budget later than they were made, in any order.
          const late: { at: number; deliver: (state: WindowState, at: number) => WindowState }[] = [];
          for (const s of steps) {
            now += s.after;
            for (const message of late.filter((m) => m.at <= now)) window = message.deliver(window, now);
            late.splice(0, late.length, ...late.filter((m) => m.at > now));
            const q = question(s.holder, { wants: s.wants, attemptAt: now });
            let answer: PermitAnswer;
            [window, answer] = ask(window, q, now);
            if (s.repeatsQuestion) [window, answer] = ask(window, q, now + 5);
            if (answer.kind !== 'granted') continue;
            const lease = answer;
            const arrived: number[] = [];
            let clock = now;
            for (const notBefore of lease.notBefore.slice(0, s.uses)) {
              clock = Math.max(clock + s.pace, notBefore);
              if (clock >= lease.useBy) break;
              const flight = s.fate === 'dies' ? s.flight : Math.min(s.flight, 1_000);
              arrivals.push(clock + flight);
              // Answered requests are stamped at or after their arrival.
              clock += flight;
              arrived.push(clock);
            }
            if (s.fate === 'dies') continue;
            const result = {
              leaseId: lease.leaseId,
              arrived,
              ...(s.fate === 'throttled' && arrived.length > 0 ? { throttled: { retryAfterMs: s.flight } } : {}),
            };
            const deliver = (state: WindowState, at: number) => report(state, result, at);
            late.push({ at: clock, deliver });
            if (s.fate === 'reports twice') late.push({ at: clock + s.flight, deliver });
          }
          expect(mostInAnyWindow(arrivals, limits.windowMs)).toBeLessThanOrEqual(requests);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('serves everybody in the end: who comes back when told is granted within a few windows', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let window = emptyWindow(settings, t0);
        let now = t0;
        for (const s of steps) {
          now += s.after;
          [window] = ask(window, question(s.holder, { wants: s.wants, attemptAt: now }), now);
        }
        for (let tries = 0; tries < 20; tries += 1) {
          const [next, answer] = ask(window, question('late', { attemptAt: now }), now);
          window = next;
          if (answer.kind === 'granted') return;
          const { waitUntil } = waits(answer);
          expect(waitUntil).toBeGreaterThan(now);
          now = waitUntil;
        }
        throw new Error('never granted');
      }),
      { numRuns: 500 },
    );
  });

  it('keeps its state small and made of plain JSON', () => {
    let window = fill(emptyWindow({ ...settings, requests: 100 }, t0), 'sync:acme:prj_1:sweep', t0);
    for (let i = 0; i < 5; i += 1) [window] = ask(window, question(`sync:acme:prj_${i}:sweep`), t0 + i);
    const json = JSON.stringify(window);
    expect(JSON.parse(json)).toEqual(window);
    expect(json.length).toBeLessThan(4_096);
  });
});
