import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterRequest,
  deadlinesLeft,
  newPace,
  nextFirstAt,
  nextRequestAt,
  type Pace,
  type PaceSettings,
  paceFrom,
  shareForDeadlines,
} from '../../../../src/feedback/rules/refresh/pace.ts';

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.UTC(2026, 5, 1);
const usual: PaceSettings = {
  share: 0.5,
  limit: 100,
  available: 100,
  otherClients: null,
  windowMs: hour,
  everyMs: 300_000,
  firstReadings: false,
};

/** Plays runs every `everyMs` for some hours; returns when requests went out. */
function played(
  settings: PaceSettings,
  hours: number,
  pace: Pace = newPace(now),
  skipped: (run: number) => boolean = () => false,
) {
  const sent: number[] = [];
  let left = pace;
  for (let run = 0; run * settings.everyMs <= hours * hour; run += 1) {
    if (skipped(run)) continue;
    const start = now + run * settings.everyMs;
    for (let at = start; ; at += 200) {
      const next = nextRequestAt(left, settings, at);
      if (next === null || next > start + 5_000) break;
      at = next;
      sent.push(at);
      left = afterRequest(left, settings, at, 'share');
    }
  }
  return { sent, pace: left };
}

const mostIn = (sent: readonly number[], windowMs: number): number =>
  Math.max(0, ...sent.map((at, n) => sent.slice(0, n + 1).filter((other) => other > at - windowMs).length));

describe('the pace of refresh', () => {
  it('sends its share evenly: all of it in the long run, at most it in any window', () => {
    const { sent } = played(usual, 24);
    expect(mostIn(sent, hour)).toBeLessThanOrEqual(50);
    expect(sent.length).toBeGreaterThan(0.97 * 24 * 50);
    expect(mostIn(sent, 300_000)).toBeLessThanOrEqual(10);
  });

  it('carries fractions over: 15 % of 10 requests an hour are 36 a day', () => {
    const settings = { ...usual, limit: 10, available: 10, share: 0.15 };
    const { sent } = played(settings, 24);
    expect(sent.length).toBeGreaterThanOrEqual(35);
    expect(sent.length).toBeLessThanOrEqual(37);
    const seldom = played({ ...settings, share: 0.01 }, 48).sent;
    expect(seldom.length).toBeGreaterThanOrEqual(4);
    expect(seldom.length).toBeLessThanOrEqual(6);
  });

  it('never sends more than the share, rounded up, in any window, whatever runs are left out', () => {
    const settings = fc.record({
      share: fc.double({ min: 0.05, max: 1, noNaN: true }),
      limit: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(settings, fc.array(fc.boolean(), { minLength: 5, maxLength: 40 }), ({ share, limit }, gaps) => {
        const its = { ...usual, share, limit, available: limit };
        const { sent } = played(its, 6, newPace(now), (run) => gaps[run % gaps.length] ?? false);
        expect(mostIn(sent, hour)).toBeLessThanOrEqual(Math.ceil(share * limit));
      }),
    );
  });

  it('does not make up for hours without runs', () => {
    const { pace } = played(usual, 1);
    const later = now + 10 * hour;
    let [left, count] = [pace, 0];
    while (nextRequestAt(left, usual, later) === later) {
      left = afterRequest(left, usual, later, 'share');
      count += 1;
    }
    expect(count).toBeLessThanOrEqual(10);
  });

  it('says when the next request is due, and that none ever is', () => {
    const seldom = { ...usual, limit: 10, available: 10, share: 0.05 };
    const pace = afterRequest(newPace(now), seldom, now, 'share');
    expect(nextRequestAt(pace, seldom, now)).toBe(now + 2 * hour);
    expect(nextRequestAt(pace, { ...usual, available: 0 }, now)).toBeNull();
  });

  it('takes a clock that went back, or a pace from the future, for now', () => {
    const { pace } = played(usual, 2);
    const next = nextRequestAt(pace, usual, now - 24 * hour);
    expect(next).not.toBeNull();
    expect((next ?? 0) - (now - 24 * hour)).toBeLessThanOrEqual(hour);
  });

  it('begins anew after a clock that was a day or a year ahead, whatever it had noted', () => {
    for (const ahead of [day, 365 * day]) {
      const others = { requests: 100, at: now + ahead };
      const saved = { ...played(usual, 1, newPace(now + ahead - hour)).pace, at: now + ahead, credit: 0, others };
      const { sent } = played(usual, 1, paceFrom(saved, now));
      expect(sent[0]).toBe(now);
      expect(sent.length).toBeGreaterThanOrEqual(49);
      expect(mostIn(sent, hour)).toBeLessThanOrEqual(50);
    }
    const { pace } = played(usual, 0.5);
    expect(paceFrom(pace, now)).toBe(pace);
  });

  it('remembers what other clients use when the budget has forgotten it', () => {
    const shared = { ...usual, share: 1, available: 60, otherClients: 40 };
    const pace = afterRequest(newPace(now), shared, now, 'share');
    const allowed = (at: number) => {
      const settings = { ...usual, share: 1 };
      const next = nextRequestAt({ ...pace, at, credit: 0 }, settings, at) ?? 0;
      return Math.round(hour / (next - at));
    };
    expect(allowed(now)).toBe(60);
    expect(allowed(now + 24 * hour)).toBe(80);
    expect(allowed(now + 30 * 24 * hour)).toBe(100);
  });

  it('leaves first readings what the share does not take, and keeps half of the share for what was read', () => {
    const settings = { ...usual, firstReadings: true };
    let [pace, count] = [newPace(now), 0];
    while (nextFirstAt(pace, settings, now) === now) {
      pace = afterRequest(pace, settings, now, 'first');
      count += 1;
    }
    expect(count).toBe(75);
    expect(played(settings, 4).sent.length).toBeLessThanOrEqual(25 * 4 + 2);
  });

  it('spends at most half of the share on deadlines', () => {
    let [pace, count] = [newPace(now), 0];
    while (deadlinesLeft(pace, usual, now + count)) {
      pace = afterRequest(pace, usual, now + count, 'deadline');
      count += 1;
    }
    expect(count).toBe(25);
    expect(deadlinesLeft(pace, usual, now + 2 * hour)).toBe(true);
  });

  it('names the share that deadlines need: twice what their readings take', () => {
    const deadlines = [15, 12].map((minutes) => ({ project: 'p', atMostMs: minutes * 60_000 }));
    // Every 15 and, by runs every 5 minutes, every 10 minutes: 4 + 6 of 100 requests an hour.
    expect(shareForDeadlines(deadlines, usual)).toBeCloseTo(0.2);
    expect(shareForDeadlines(deadlines, { ...usual, available: 0 })).toBe(Number.POSITIVE_INFINITY);
    expect(shareForDeadlines([], usual)).toBe(0);
  });
});
