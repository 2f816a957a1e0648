/** The range in which a site's jobs usually end, in milliseconds since the start. */
interface UsualDuration {
  earliestMs: number;
  middleMs: number;
  latestMs: number;
}

/** Assumed relative spread of durations; weighs as much as one observed duration. */
const assumedSpread = 0.1;
/** Standard deviations below and above the middle: one job in two hundred ends earlier, one later. */
const below = 2.6;
const above = 2.5;

/** The next job's duration by median and deviation of the last logarithms; one unusual job changes little. */
export function usualDuration(durationsMs: readonly number[]): UsualDuration | null {
  const logs = durationsMs.filter((ms) => Number.isFinite(ms) && ms > 0).map((ms) => Math.log(ms));
  if (logs.length === 0) return null;
  const middle = median(logs);
  const own = 1.4826 * median(logs.map((log) => Math.abs(log - middle)));
  const variance = ((logs.length - 1) * own ** 2 + assumedSpread ** 2) / logs.length;
  const spread = Math.sqrt(variance * (1 + 1 / logs.length));
  const at = (deviations: number) => Math.exp(middle + deviations * spread);
  return { earliestMs: at(-below), middleMs: at(0), latestMs: at(above) };
}

/**
 * Estimates how long a job took from the last poll that saw it running and the one that saw it done. After a long gap,
 * the poll counts as timely, since polls come around the expected end, `spacingMs` apart.
 */
export function observedDuration(runningMs: number, doneMs: number, spacingMs: number): number {
  return Math.round(doneMs - Math.min(doneMs - runningMs, spacingMs) / 2);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2;
}

/** One reading of a job's progress. */
export interface ProgressSample {
  /** Milliseconds since the job was started. */
  atMs: number;
  percent: number;
}

interface PollPlan {
  delayMs: number;
  /** Why then, in a few words. */
  reason: string;
  /** When the job may be done, in milliseconds since it was started; null when unknown. */
  expectedAtMs: number | null;
}

const second = 1_000;
const minute = 60 * second;

/** Polls in the first minute of a job that reports no progress: twelve, denser where jobs usually end. */
const blindMoments = [6, 15, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60].map((at) => at * second);
const shortestMs = second;
const longestMs = 15 * minute;
/** Time between polls of a job that ends within a minute. */
const shortJobSpacing = 2.7 * second;
const keptSamples = 8;
/** Readings whose remainders differ by less have the same step: 33.33 and 66.67. */
const stepTolerance = 0.6;
/** Share of a long time to the earliest end that is slept at once: progress may speed up. */
const shareOfLongWay = 0.85;

/**
 * When to poll a job again (E2, bench/README.md "polling"), after its start or a poll. With readable progress: at the
 * earliest end that the readings allow, then every 10 s + 2 % of the elapsed time (2.7 s in the first minute). Without:
 * twelve times in the first minute, then every 10 s + 5 %. If the durations of the site's last jobs are known
 * (`usualJobsMs`), polls gather around the usual end, spaced by how late one may be. Never beyond the job's time limit.
 * Times in milliseconds.
 */
export function nextPollDelay(input: {
  elapsedMs: number;
  samples: readonly ProgressSample[];
  timeoutMs: number;
  usualJobsMs?: readonly number[];
}): PollPlan {
  const { elapsedMs, samples, timeoutMs, usualJobsMs = [] } = input;
  const last = samples.at(-1);
  const usual = usualDuration(usualJobsMs);
  const learnt = usual && learntPlan(elapsedMs, samples, usual);
  const plan = learnt ?? (last === undefined ? blindPlan(elapsedMs) : informedPlan(elapsedMs, samples, last));
  const untilTimeout = Math.max(shortestMs, timeoutMs - elapsedMs);
  const delayMs = Math.round(Math.min(Math.max(plan.delayMs, shortestMs), longestMs, untilTimeout));
  return { ...plan, delayMs };
}

/**
 * The samples with one more reading, at most eight. An unreadable one (null) adds nothing. Of constant progress the first
 * and the last reading are kept. A small step back (noise) replaces higher readings; a large one means that the job began
 * again, at the earliest right after the previous reading.
 */
export function keepSamples(
  samples: readonly ProgressSample[],
  reading: { atMs: number; percent: number | null },
): ProgressSample[] {
  const { percent } = reading;
  if (percent === null || !Number.isFinite(percent)) return [...samples];
  const now = { atMs: Math.max(1, reading.atMs), percent: Math.min(100, Math.max(0, percent)) };
  const before = samples.at(-1);
  if (before !== undefined && beganAgain(before, now)) return [{ atMs: before.atMs, percent: 0 }, now];
  const lower = samples.filter((sample) => sample.percent < now.percent);
  const firstSight = samples.filter((sample) => sample.percent === now.percent).slice(0, 1);
  const [oldest, ...others] = [...lower, ...firstSight, now];
  return oldest === undefined ? [] : [oldest, ...others.slice(1 - keptSamples)];
}

/** Noise is small and appears between close polls; over a longer time, any step back is more than noise. */
function beganAgain(before: ProgressSample, now: ProgressSample): boolean {
  const lost = before.percent - now.percent;
  return lost > 7 || lost > before.percent / 2 || (lost > 0 && now.atMs > 1.2 * before.atMs);
}

/** Polls around the usual end and at halves of it, to notice early ends; null when it has passed. */
function learntPlan(elapsedMs: number, samples: readonly ProgressSample[], usual: UsualDuration): PollPlan | null {
  if (elapsedMs >= usual.latestMs) return null;
  const informed = samples.length > 0;
  const spacingMs = pollSpacing(usual.middleMs, informed);
  // At most half a spacing after the middle: otherwise late polls would teach ever longer durations.
  const firstMs = Math.min(usual.earliestMs + spacingMs, usual.middleMs + spacingMs / 2);
  const on = (way: number) => ({
    delayMs: way,
    reason: `its last jobs took about ${roughly(usual.middleMs)}`,
    expectedAtMs: usual.middleMs > elapsedMs ? Math.round(usual.middleMs) : null,
  });
  if (elapsedMs > firstMs - shortestMs) return on(spacingMs);
  const last = samples.at(-1);
  const promised = last && last.percent > 0 ? steadyEnd(samples, last, last.percent) : firstMs;
  if (promised < firstMs) return on(Math.max(promised - elapsedMs, spacingMs));
  return on(nextHalf(elapsedMs, firstMs) - elapsedMs);
}

/** The next of `endMs` and its halves: half of it always, quarters and less from a minute on. */
function nextHalf(elapsedMs: number, endMs: number): number {
  let next = endMs;
  for (let half = endMs / 2; half > elapsedMs + shortestMs; half /= 2) {
    if (half < minute && next !== endMs) break;
    next = half;
  }
  return next;
}

/** Time between polls around the expected end: how late one may be (bench/README.md "polling"). */
export function pollSpacing(durationMs: number, informed: boolean): number {
  if (durationMs < minute) return shortJobSpacing;
  return 10 * second + (informed ? 0.02 : 0.05) * durationMs;
}

function blindPlan(elapsedMs: number): PollPlan {
  const next = blindMoments.find((at) => at >= elapsedMs + shortestMs);
  if (next !== undefined) {
    return { delayMs: next - elapsedMs, reason: 'no progress reported, twelve polls a minute', expectedAtMs: null };
  }
  const reason = 'no progress reported, 5 % of the elapsed time';
  return { delayMs: 10 * second + 0.05 * elapsedMs, reason, expectedAtMs: null };
}

function informedPlan(elapsedMs: number, samples: readonly ProgressSample[], last: ProgressSample): PollPlan {
  if (last.percent === 0) {
    const reason = `0 % after ${roughly(elapsedMs)}`;
    return { delayMs: Math.min(elapsedMs, 20 * second + 0.1 * elapsedMs), reason, expectedAtMs: null };
  }
  const nearTheEnd = pollSpacing(elapsedMs, true);
  const way = earliestEnd(samples, last) - elapsedMs;
  const share = way < 2 * nearTheEnd ? way : way * shareOfLongWay;
  // Sleeping at most as long as the job has run limits the cost of a wrong guess about its start.
  const delayMs = Math.max(nearTheEnd, Math.min(share, elapsedMs));
  // The likely end, by the average speed since the last reading of 0 %.
  const expectedAtMs = Math.round(steadyEnd(samples, last, last.percent));
  const soFar = `${Math.floor(last.percent)} % after ${roughly(elapsedMs)}`;
  if (expectedAtMs <= elapsedMs) return { delayMs, reason: `${soFar}, the end is overdue`, expectedAtMs: null };
  return { delayMs, reason: `${soFar}, about ${roughly(expectedAtMs - elapsedMs)} left`, expectedAtMs };
}

/**
 * The earliest end that the readings allow: progress may be almost a step ahead of its reading, may have begun only
 * after the last reading of 0 %, and may keep accelerating as it did between the last two readings.
 */
function earliestEnd(samples: readonly ProgressSample[], last: ProgressSample): number {
  const reached = Math.min(100, last.percent + stepOf(samples));
  const accelerating = last.atMs * (100 / reached) ** (1 / exponent(samples, last, reached));
  return Math.min(accelerating, steadyEnd(samples, last, reached));
}

function steadyEnd(samples: readonly ProgressSample[], last: ProgressSample, reached: number): number {
  const startMs = samples.findLast((sample) => sample.percent === 0)?.atMs ?? 0;
  return startMs + ((last.atMs - startMs) * 100) / reached;
}

/** `p` where percent grows with time to the power of p, from steady (1) to 4; a guess for a single reading. */
function exponent(samples: readonly ProgressSample[], last: ProgressSample, reached: number): number {
  const before = samples.findLast((sample) => sample.percent > 0 && sample.percent < last.percent);
  if (before === undefined) return 1.5;
  return Math.min(4, Math.max(1, Math.log(reached / before.percent) / Math.log(last.atMs / before.atMs)));
}

/** The coarsest step that fits all readings: 25 for 25, 50 and 75. */
function stepOf(samples: readonly ProgressSample[]): number {
  return samples.reduce((step, sample) => commonStep(step, sample.percent), 0);
}

function commonStep(a: number, b: number): number {
  return b < stepTolerance ? a : commonStep(b, a % b);
}

/** `40 s`, `3 min`, `1.5 h`. */
function roughly(ms: number): string {
  if (ms < 90 * second) return `${Math.max(1, Math.round(ms / second))} s`;
  if (ms < 90 * minute) return `${Math.round(ms / minute)} min`;
  return `${Math.round(ms / (6 * minute)) / 10} h`;
}
