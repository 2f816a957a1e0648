import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  blindShapes,
  figures,
  followMany,
  followSites,
  readableShapes,
  type Shape,
} from '../../../bench/bundle/polling-simulation.ts';
import {
  keepSamples,
  nextPollDelay,
  observedDuration,
  type ProgressSample,
  usualDuration,
} from '../../../src/exports/rules/cadence.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const timeoutMs = 6 * hour;
const at = (atMs: number, percent: number): ProgressSample => ({ atMs, percent });

describe('nextPollDelay', () => {
  it('asks soon after the start', () => {
    expect(nextPollDelay({ elapsedMs: 0, samples: [], timeoutMs })).toMatchObject({ delayMs: 6 * second });
  });

  it('follows the elapsed time while no progress can be read', () => {
    expect(nextPollDelay({ elapsedMs: hour, samples: [], timeoutMs })).toEqual({
      delayMs: 190 * second,
      reason: 'no progress reported, 5 % of the elapsed time',
      expectedAtMs: null,
    });
  });

  it('sleeps most of the way to the end that progress promises, and says when that is', () => {
    const samples = [at(1 * minute, 13), at(2 * minute, 28), at(3 * minute, 42)];
    const plan = nextPollDelay({ elapsedMs: 3 * minute, samples, timeoutMs });
    expect(plan.reason).toBe('42 % after 3 min, about 4 min left');
    expect(plan.expectedAtMs).toBe(Math.round((3 * minute * 100) / 42));
    expect(plan.delayMs).toBe(3 * minute);
  });

  it('never sleeps past the earliest end that coarse steps allow', () => {
    const samples = [at(10 * minute, 25), at(20 * minute, 50), at(30 * minute, 75)];
    const { delayMs } = nextPollDelay({ elapsedMs: 30 * minute, samples, timeoutMs });
    expect(delayMs).toBe(10 * second + 0.02 * 30 * minute);
  });

  it('expects accelerating progress to go on accelerating', () => {
    const steady = [at(10 * minute, 21), at(20 * minute, 40)];
    const accelerating = [at(10 * minute, 11), at(20 * minute, 40)];
    const delay = (samples: ProgressSample[]) => nextPollDelay({ elapsedMs: 20 * minute, samples, timeoutMs }).delayMs;
    expect(delay(accelerating)).toBeLessThan(12 * minute);
    expect(delay(steady)).toBeGreaterThan(12 * minute);
  });

  it('says that the end is overdue when a job stands at 99 % for long', () => {
    const samples = [at(10 * minute, 50), at(20 * minute, 99), at(40 * minute, 99)];
    const plan = nextPollDelay({ elapsedMs: 40 * minute, samples: [at(20 * minute, 99)], timeoutMs });
    expect(plan).toMatchObject({ reason: '99 % after 40 min, the end is overdue', expectedAtMs: null });
    expect(nextPollDelay({ elapsedMs: 40 * minute, samples, timeoutMs }).delayMs).toBe(58 * second);
  });

  it('counts from the last 0 % when a job was queued first', () => {
    const samples = [at(30 * minute, 0), at(31 * minute, 10)];
    const plan = nextPollDelay({ elapsedMs: 31 * minute, samples, timeoutMs });
    expect(plan).toMatchObject({ reason: '10 % after 31 min, about 9 min left', expectedAtMs: 40 * minute });
    expect(plan.delayMs).toBeLessThan(9 * minute);
  });

  it('ends exactly at the time limit', () => {
    expect(nextPollDelay({ elapsedMs: hour, samples: [], timeoutMs: hour + 20 * second }).delayMs).toBe(20 * second);
    expect(nextPollDelay({ elapsedMs: hour, samples: [], timeoutMs: hour }).delayMs).toBe(second);
  });

  describe('with what the last jobs took', () => {
    const tenMinutes = [9.5, 10, 10.2, 9.8, 10.4, 10.1].map((minutes) => minutes * minute);
    const delay = (elapsedMs: number, usualJobsMs: number[], samples: ProgressSample[] = []) =>
      nextPollDelay({ elapsedMs, samples, timeoutMs, usualJobsMs });

    it('looks in at halves of the way, says what it expects, and gathers polls at the usual end', () => {
      const plan = delay(0, tenMinutes);
      expect(plan.reason).toBe('its last jobs took about 10 min');
      expect(plan.expectedAtMs).toBeGreaterThan(9.9 * minute);
      const moments: number[] = [];
      for (let elapsedMs = 0; moments.length < 7; ) {
        elapsedMs += delay(elapsedMs, tenMinutes).delayMs;
        moments.push(elapsedMs / minute);
      }
      const [eighth = 0, quarter = 0, half = 0, first = 0, second = 0, third = 0] = moments;
      expect([quarter / eighth, half / quarter, first / half].map(Math.round)).toEqual([2, 2, 2]);
      expect(first).toBeGreaterThan(9);
      expect(first).toBeLessThan(10.4);
      expect(second - first).toBeCloseTo(third - second, 2);
      expect(second - first).toBeLessThan(0.7);
    });

    it('believes progress that promises an earlier end, and not progress that promises a later one', () => {
      const half = 4.8 * minute;
      const usual = delay(half, tenMinutes, [at(half, 49)]).delayMs;
      expect(delay(half, tenMinutes, [at(half, 80)]).delayMs).toBeLessThan(usual / 2);
      expect(delay(half, tenMinutes, [at(half, 12)]).delayMs).toBe(usual);
    });

    it('goes on as without when the usual end has passed', () => {
      expect(delay(20 * minute, tenMinutes)).toEqual(nextPollDelay({ elapsedMs: 20 * minute, samples: [], timeoutMs }));
    });
  });

  it('is a whole number between a second and a quarter of an hour, whatever was read', () => {
    const readings = fc.array(
      fc.record({
        gapMs: fc.nat({ max: hour }),
        percent: fc.option(fc.oneof(fc.double(), fc.integer({ min: 0, max: 100 })), { nil: null }),
      }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(readings, (sequence) => {
        let samples: ProgressSample[] = [];
        let elapsedMs = 0;
        const usualJobsMs = sequence.slice(0, 10).map(({ gapMs }) => gapMs);
        for (const { gapMs, percent } of sequence) {
          elapsedMs += gapMs;
          samples = keepSamples(samples, { atMs: elapsedMs, percent });
          const plan = nextPollDelay({ elapsedMs, samples, timeoutMs: 1_000 * hour });
          expect(Number.isInteger(plan.delayMs)).toBe(true);
          expect(plan.delayMs).toBeGreaterThanOrEqual(second);
          expect(plan.delayMs).toBeLessThanOrEqual(15 * minute);
          expect(plan.expectedAtMs ?? elapsedMs).toBeGreaterThanOrEqual(elapsedMs);
          const learnt = nextPollDelay({ elapsedMs, samples, timeoutMs: 1_000 * hour, usualJobsMs });
          expect(Number.isInteger(learnt.delayMs)).toBe(true);
          expect(learnt.delayMs).toBeGreaterThanOrEqual(second);
          expect(learnt.delayMs).toBeLessThanOrEqual(15 * minute);
          expect(samples.length).toBeLessThanOrEqual(8);
        }
      }),
    );
  });
});

describe('keepSamples', () => {
  const keep = (...readings: [number, number | null][]): ProgressSample[] =>
    readings.reduce<ProgressSample[]>((samples, [atMs, percent]) => keepSamples(samples, { atMs, percent }), []);

  it('adds what can be read', () => {
    expect(keep([10, 5], [20, null], [30, Number.NaN], [40, 130])).toEqual([at(10, 5), at(40, 100)]);
  });

  it('holds the oldest and the newest of many', () => {
    const readings = Array.from({ length: 20 }, (_, index): [number, number] => [index + 1, 5 * index]);
    expect(keep(...readings).map(({ percent }) => percent)).toEqual([0, 65, 70, 75, 80, 85, 90, 95]);
  });

  it('keeps the first and the last sight of progress that stands still', () => {
    expect(keep([10, 5], [20, 7], [30, 7], [40, 7], [50, 7])).toEqual([at(10, 5), at(20, 7), at(50, 7)]);
  });

  it('takes a small step back for noise and forgets what was above it', () => {
    expect(keep([100, 40], [200, 47], [205, 48], [210, 46])).toEqual([at(100, 40), at(210, 46)]);
  });

  it('takes a large step back, or any over a longer time, for a job that began again', () => {
    expect(keep([100, 40], [200, 60], [210, 50])).toEqual([at(200, 0), at(210, 50)]);
    expect(keep([100, 4], [110, 1])).toEqual([at(100, 0), at(110, 1)]);
    expect(keep([100, 40], [200, 39])).toEqual([at(100, 0), at(200, 39)]);
  });
});

/** bench/README.md "polling", by simulation in virtual time; `node dist/bench/bundle/polling.js` prints the whole table. */
describe('the figures', () => {
  const { 'starts over (at 20 to 60 %)': startsOver, ...readable } = readableShapes;
  const run = (shape: Shape, from: number, to: number, share: number) =>
    figures(followMany(shape, from, to, 400, 11), (durationMs) => 10 * second + share * durationMs);

  describe.each(Object.entries(readable))('with readable progress: %s', (_name, shape) => {
    it('needs 5 times fewer polls than every 10 s from 20 s to 4 h, late by at most 10 s + 2 %', () => {
      const found = run(shape, 20 * second, 4 * hour, 0.02);
      expect(found.fewer).toBeGreaterThanOrEqual(5);
      expect(found.p95OverAllowedMs).toBeLessThanOrEqual(0);
    });

    it('reaches both from 20 min on by itself', () => {
      const found = run(shape, 20 * minute, hour, 0.02);
      expect(found.fewer).toBeGreaterThanOrEqual(5);
      expect(found.p95OverAllowedMs).toBeLessThanOrEqual(0);
    });

    it('is late by at most 10 s + 2 % between one and 20 min too', () => {
      expect(run(shape, minute, 5 * minute, 0.02).p95OverAllowedMs).toBeLessThanOrEqual(0.1 * second);
      expect(run(shape, 5 * minute, 20 * minute, 0.02).p95OverAllowedMs).toBeLessThanOrEqual(0);
    });

    it('asks a job of up to a minute at most 12 times and is late by at most 3 s', () => {
      const found = run(shape, 20 * second, minute, 0.02);
      expect(found.mostPolls).toBeLessThanOrEqual(12);
      expect(found.p95LatenessMs).toBeLessThanOrEqual(3 * second);
    });
  });

  // Nobody can see that a job began again between two polls and got further than it was.
  it('sleeps never longer than a job has run that begins again', () => {
    const shape = startsOver ?? (() => null);
    const outcomes = followMany(shape, 20 * second, 4 * hour, 400, 11);
    for (const outcome of outcomes) expect(outcome.latenessMs).toBeLessThanOrEqual(outcome.durationMs);
    expect(figures(outcomes, () => 0).fewer).toBeGreaterThanOrEqual(5);
  });

  describe.each(Object.entries(blindShapes))('without progress: %s', (_name, shape) => {
    it('needs at most half the polls of every 10 s from 20 s to 4 h, late by at most 10 s + 5 %', () => {
      const found = run(shape, 20 * second, 4 * hour, 0.05);
      expect(found.fewer).toBeGreaterThanOrEqual(2);
      expect(found.p95OverAllowedMs).toBeLessThanOrEqual(0);
    });

    // Twelve polls can't keep 3 s: they cover 36 s of durations, 20 s to 60 s are 40.
    it('asks a job of up to a minute at most 12 times and is late by at most 4 s', () => {
      const found = run(shape, 20 * second, minute, 0.05);
      expect(found.mostPolls).toBeLessThanOrEqual(12);
      expect(found.worstLatenessMs).toBeLessThanOrEqual(4 * second);
    });
  });

  /** Durations of a site that differ by 5 %, after ten jobs. */
  describe('after ten jobs of the site', () => {
    const { 'linear, whole percent': linear, 'accelerating (cube)': cube } = readableShapes;
    const learnt = (shape: Shape | undefined, from: number, to: number, share: number) => {
      const spread = { usual: 0.05, outOfTheOrdinary: 0 };
      const outcomes = followSites(shape ?? (() => null), { from, to }, spread, 400, 11);
      return figures(outcomes, (durationMs) => 10 * second + share * durationMs);
    };

    it.each([
      ['linear', linear],
      ['accelerating', cube],
    ])('needs 4 times fewer polls than every 10 s between one and 5 min, where it needed 2: %s', (_name, shape) => {
      const found = learnt(shape, minute, 5 * minute, 0.02);
      expect(found.fewer).toBeGreaterThanOrEqual(4);
      expect(found.p95OverAllowedMs).toBeLessThanOrEqual(0.5 * second);
    });

    it('needs half the polls of every 10 s between one and 5 min without progress too', () => {
      const found = learnt(undefined, minute, 5 * minute, 0.05);
      expect(found.fewer).toBeGreaterThanOrEqual(2);
      expect(found.p95OverAllowedMs).toBeLessThanOrEqual(0.5 * second);
    });

    it('asks a job of up to a minute at most 12 times and is late by at most 3 s, without progress', () => {
      const found = learnt(undefined, 20 * second, minute, 0.05);
      expect(found.mostPolls).toBeLessThanOrEqual(12);
      expect(found.p95LatenessMs).toBeLessThanOrEqual(3 * second);
    });
  });
});

describe('usualDuration', () => {
  it('knows nothing without a job, and little with one', () => {
    expect(usualDuration([])).toBeNull();
    expect(usualDuration([0, Number.NaN, -1])).toBeNull();
    const one = usualDuration([10 * minute]);
    expect(one?.middleMs).toBeCloseTo(10 * minute, 3);
    expect(one?.earliestMs).toBeLessThan(7 * minute);
    expect(one?.latestMs).toBeGreaterThan(14 * minute);
  });

  it('narrows with jobs that agree, and is not misled by one that does not', () => {
    const alike = Array.from({ length: 10 }, (_, n) => (10 + 0.05 * n) * minute);
    const narrow = usualDuration(alike);
    expect(narrow?.earliestMs).toBeGreaterThan(9 * minute);
    expect(narrow?.latestMs).toBeLessThan(11.5 * minute);
    const oneOff = usualDuration([60 * minute, ...alike.slice(1)]);
    expect(oneOff?.latestMs).toBeLessThan(11.5 * minute);
  });

  it('lies around its middle, whatever was seen', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 10 ** 9 }), { minLength: 1, maxLength: 10 }), (durations) => {
        const usual = usualDuration(durations);
        if (usual === null) throw new Error('durations were given');
        expect(usual.earliestMs).toBeLessThan(usual.middleMs);
        expect(usual.middleMs).toBeLessThan(usual.latestMs);
        expect(usual.middleMs).toBeGreaterThanOrEqual(Math.min(...durations) * 0.999);
        expect(usual.middleMs).toBeLessThanOrEqual(Math.max(...durations) * 1.001);
      }),
    );
  });
});

describe('observedDuration', () => {
  it('lies between the polls that saw the job running and done, and not far before the latter', () => {
    expect(observedDuration(100_000, 110_000, 20_000)).toBe(105_000);
    expect(observedDuration(50_000, 110_000, 20_000)).toBe(100_000);
    expect(observedDuration(0, 6_000, 20_000)).toBe(3_000);
  });

  it('does not drift: sites whose jobs always take the same learn that, wherever they begin', () => {
    const takes = 150_000;
    const spacingMs = 17_500;
    for (const start of [0.8, 0.95, 1.05, 1.3]) {
      let learnt = Array.from({ length: 10 }, () => start * takes);
      for (let job = 0; job < 100; job += 1) {
        const usual = usualDuration(learnt);
        if (usual === null) throw new Error('durations were given');
        let runningMs = usual.middleMs / 2;
        let doneMs = Math.min(usual.earliestMs + spacingMs, usual.middleMs + spacingMs / 2);
        while (doneMs < takes) [runningMs, doneMs] = [doneMs, doneMs + spacingMs];
        learnt = [observedDuration(Math.min(runningMs, takes), doneMs, spacingMs), ...learnt].slice(0, 10);
      }
      expect(Math.abs((usualDuration(learnt)?.middleMs ?? 0) - takes)).toBeLessThan(spacingMs);
    }
  });
});
