/**
 * A range of dates, and the moment up to which its entries in the store are complete. The ranges of a project follow
 * each other without a gap; entries without a date are kept separately.
 */
export interface VerifiedRange {
  /** Included; null: from the beginning of time. */
  from: string | null;
  /** Excluded; null: to the end of time. */
  to: string | null;
  /** Start of the latest reading that showed it complete; null when none has. */
  verifiedUpTo: string | null;
}

/** More are merged, the older moment standing for both. */
const mostRanges = 200;

/** A project without any complete range. */
export const unverified: readonly VerifiedRange[] = [{ from: null, to: null, verifiedUpTo: null }];

/** The ranges after a reading begun at `at` that showed everything from `from` to before `to` (S4). */
export function markVerified(
  ranges: readonly VerifiedRange[],
  { from, to, at }: { from: string | null; to: string | null; at: string },
): VerifiedRange[] {
  if (from !== null && to !== null && from >= to) return [...ranges];
  const marked = ranges.flatMap((range) => {
    const split: VerifiedRange[] = [];
    const start = from === null || (range.from !== null && range.from > from) ? range.from : from;
    const end = to === null || (range.to !== null && range.to < to) ? range.to : to;
    if (start !== null && end !== null && start >= end) return [range];
    if (start !== range.from) split.push({ ...range, to: start });
    const newer = range.verifiedUpTo === null || range.verifiedUpTo < at ? at : range.verifiedUpTo;
    split.push({ from: start, to: end, verifiedUpTo: newer });
    if (end !== range.to) split.push({ ...range, from: end });
    return split;
  });
  return merged(marked);
}

/** The moment up to which all ranges are complete; null while one is not. */
export function leastVerified(ranges: readonly Pick<VerifiedRange, 'verifiedUpTo'>[]): string | null {
  let least: string | null = null;
  for (const { verifiedUpTo } of ranges) {
    if (verifiedUpTo === null) return null;
    if (least === null || verifiedUpTo < least) least = verifiedUpTo;
  }
  return least;
}

function merged(ranges: readonly VerifiedRange[]): VerifiedRange[] {
  const joined: VerifiedRange[] = [];
  for (const range of ranges) {
    const before = joined.at(-1);
    if (before !== undefined && before.verifiedUpTo === range.verifiedUpTo) before.to = range.to;
    else joined.push({ ...range });
  }
  while (joined.length > mostRanges) joined.splice(0, 2, older(joined[0], joined[1]));
  return joined;
}

function older(a: VerifiedRange | undefined, b: VerifiedRange | undefined): VerifiedRange {
  if (a === undefined || b === undefined) throw new RangeError('two ranges are needed');
  return { from: a.from, to: b.to, verifiedUpTo: leastVerified([a, b]) };
}
