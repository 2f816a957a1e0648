/** The range in which a site's jobs usually end, in milliseconds since the start. */
export interface UsualDuration {
  earliestMs: number;
  middleMs: number;
  latestMs: number;
}

/** Assumed relative spread of durations; weighs as much as one observed duration. */
const assumedSpread = 0.1;
/** Standard deviations below and above the middle: one job in two hundred ends earlier, one later. */
const below = 2.6;
const above = 2.5;

/**
 * Estimates the next job's duration from the last ones of the site; null without any. Uses the median and the median
 * deviation on a logarithmic scale, so that one unusual export changes little.
 */
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
