/** Two-sided normal quantile of 95 %. */
const z = 1.96;

export interface Interval {
  low: number;
  high: number;
}

/**
 * The 95 % score interval of a share after `yes` of `votes` (E. B. Wilson, 1927): unlike the plain one, it is right for
 * few votes and for shares near 0 and 1.
 */
export function wilsonInterval(yes: number, votes: number): Interval {
  if (votes === 0) return { low: 0, high: 1 };
  const share = yes / votes;
  const scale = 1 + z ** 2 / votes;
  const middle = (share + z ** 2 / (2 * votes)) / scale;
  const reach = (z / scale) * Math.sqrt((share * (1 - share)) / votes + z ** 2 / (4 * votes ** 2));
  return { low: Math.max(0, middle - reach), high: Math.min(1, middle + reach) };
}

/** Whether two shares differ significantly at 95 % (test of two proportions). */
export function sharesDiffer(a: { yes: number; no: number }, b: { yes: number; no: number }): boolean {
  const [of, from] = [a.yes + a.no, b.yes + b.no];
  const pooled = (a.yes + b.yes) / (of + from);
  const spread = Math.sqrt(pooled * (1 - pooled) * (1 / of + 1 / from));
  return spread > 0 && Math.abs(a.yes / of - b.yes / from) > z * spread;
}
