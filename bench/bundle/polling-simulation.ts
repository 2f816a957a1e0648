import {
  keepSamples,
  nextPollDelay,
  observedDuration,
  type ProgressSample,
  pollSpacing,
} from '../../src/exports/rules/cadence.ts';

const second = 1_000;

/** Progress in percent at the share `x` (0 to 1) of a job's duration; null where it reports none. */
export type Shape = (x: number, job: JobDice) => number | null;

/** What chance decided about a job. */
interface JobDice {
  /** 0 to 1, fixed for the job. */
  trait: number;
  /** 0 to 1, new at each call. */
  roll(): number;
}

export interface Outcome {
  durationMs: number;
  polls: number;
  /** Polls of a loop that asks every 10 s. */
  pollsEvery10s: number;
  /** From the end of the job to the poll that sees it. */
  latenessMs: number;
  /** What later jobs of the site learn. */
  observedMs: number;
}

const whole = (percent: number): number => Math.floor(Math.min(100, Math.max(0, percent)));

export const readableShapes: Readonly<Record<string, Shape>> = {
  'linear, whole percent': (x) => whole(100 * x),
  'linear, exact': (x) => 100 * x,
  'accelerating (square)': (x) => whole(100 * x ** 2),
  'accelerating (cube)': (x) => whole(100 * x ** 3),
  'slowing down (root)': (x) => whole(100 * Math.sqrt(x)),
  'slow, fast, slow': (x) => whole(100 * x * x * (3 - 2 * x)),
  'steps of 5': (x) => 5 * Math.floor(20 * x),
  'steps of 10': (x) => 10 * Math.floor(10 * x),
  'steps of 25': (x) => 25 * Math.floor(4 * x),
  'noisy (± 3)': (x, job) => whole(100 * x + 6 * (job.roll() - 0.5)),
  'queued first (10 to 50 %)': (x, job) => {
    const queued = 0.1 + 0.4 * job.trait;
    return x < queued ? 0 : whole((100 * (x - queued)) / (1 - queued));
  },
  'stalls at 99 (last 5 to 30 %)': (x, job) => Math.min(99, whole((100 * x) / (0.95 - 0.25 * job.trait))),
  'starts over (at 20 to 60 %)': (x, job) => {
    const over = 0.2 + 0.4 * job.trait;
    return whole(x < over ? 100 * x : (100 * (x - over)) / (1 - over));
  },
};

export const blindShapes: Readonly<Record<string, Shape>> = { 'none reported': () => null };

/** Repeatable chance. */
function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Follows one job to its end in virtual time, as the workflow does. A poll takes 0.2 s. */
function follow(shape: Shape, durationMs: number, job: JobDice, usualJobsMs: readonly number[] = []): Outcome {
  const pollMs = 200;
  let samples: ProgressSample[] = [];
  let elapsedMs = 0;
  let runningMs = 0;
  for (let polls = 1; ; polls += 1) {
    elapsedMs += nextPollDelay({ elapsedMs, samples, timeoutMs: 100 * 3_600_000, usualJobsMs }).delayMs;
    if (elapsedMs >= durationMs) {
      const pollsEvery10s = Math.ceil(durationMs / (10 * second));
      const observedMs = observedDuration(runningMs, elapsedMs, pollSpacing(elapsedMs, samples.length > 0));
      return { durationMs, polls, pollsEvery10s, latenessMs: elapsedMs - durationMs, observedMs };
    }
    runningMs = elapsedMs;
    const percent = shape(elapsedMs / durationMs, job);
    elapsedMs += pollMs;
    samples = keepSamples(samples, { atMs: elapsedMs, percent });
  }
}

/** `count` jobs of a shape, their durations spread evenly on a logarithmic scale. */
export function followMany(shape: Shape, from: number, to: number, count: number, seed: number): Outcome[] {
  const roll = dice(seed);
  return Array.from({ length: count }, (_, index) => {
    const durationMs = from * (to / from) ** ((index + roll()) / count);
    return follow(shape, durationMs, { trait: roll(), roll });
  });
}

/** How a site's durations differ from one job to the next. */
export interface Spread {
  /** Standard deviation of the logarithm, about the share by which they differ. */
  usual: number;
  /** Share of jobs that take something between half and twice as long instead. */
  outOfTheOrdinary: number;
}

const jobsBefore = 10;

/** One job each of `count` sites, after the jobs before it, from which its polls learn what those saw. */
export function followSites(
  shape: Shape,
  { from, to }: { from: number; to: number },
  spread: Spread,
  count: number,
  seed: number,
): Outcome[] {
  const roll = dice(seed);
  const bell = () => Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll());
  return Array.from({ length: count }, (_, index) => {
    const middleMs = from * (to / from) ** ((index + roll()) / count);
    const next = () =>
      middleMs * (roll() < spread.outOfTheOrdinary ? 2 ** (2 * roll() - 1) : Math.exp(spread.usual * bell()));
    const learnt: number[] = [];
    for (let job = 0; job < jobsBefore; job += 1) {
      learnt.unshift(follow(shape, next(), { trait: roll(), roll }, learnt).observedMs);
    }
    return follow(shape, next(), { trait: roll(), roll }, learnt);
  });
}

interface Figures {
  mostPolls: number;
  /** Polls of a loop every 10 s over ours, summed over the jobs. */
  fewer: number;
  p95LatenessMs: number;
  worstLatenessMs: number;
  /** 95th percentile of the lateness less what the duration allows; at most 0 when the target is met. */
  p95OverAllowedMs: number;
}

/** `allowed` is the lateness a job of a duration may have, in milliseconds. */
export function figures(outcomes: readonly Outcome[], allowed: (durationMs: number) => number): Figures {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const lateness = outcomes.map((outcome) => outcome.latenessMs);
  return {
    mostPolls: Math.max(...outcomes.map((outcome) => outcome.polls)),
    fewer: sum(outcomes.map((outcome) => outcome.pollsEvery10s)) / sum(outcomes.map((outcome) => outcome.polls)),
    p95LatenessMs: percentile95(lateness),
    worstLatenessMs: Math.max(...lateness),
    p95OverAllowedMs: percentile95(outcomes.map((o) => o.latenessMs - allowed(o.durationMs))),
  };
}

function percentile95(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0;
}
