/** Between which moments a site's job ends as a rule, in milliseconds since its start. */
export interface UsualDuration {
  earliestMs: number;
  middleMs: number;
  latestMs: number;
}

/** How much durations differ where little is known, as a share: weighs as much as one observed duration. */
const assumedSpread = 0.1;
/** Standard deviations below and above the middle: of two hundred jobs one ends before, another after. */
const below = 2.6;
const above = 2.5;

/**
 * What the last durations of a site's jobs tell about the next one; null without any. Counted on a logarithmic scale
 * with the median and the median deviation, so that one export out of the ordinary changes little.
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
 * How long a job took, as far as polls tell: it was running at one and done at the other. A long gap between them says
 * little; then it counts as seen in time, since polls come when the end is expected, `spacingMs` apart.
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
