import { diffArrays } from 'diff';

/** A line that both texts have, or one of them alone. */
export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/**
 * What differs; `skipped` counts lines that both have, or that are too many to show, between what is listed. `unmatched`
 * comes first where the texts differ too much to be compared line by line: all of one is removed, all of the other added.
 */
export type DiffPart = DiffLine | { kind: 'skipped'; lines: number } | { kind: 'unmatched' };

export interface DiffLimits {
  /** Lines that both have, shown around each difference. */
  around: number;
  /** Most lines listed; the rest is skipped. */
  most: number;
}

/** Most lines removed and added: time grows by their square, whatever else the texts have in common. */
const mostEdits = 1_000;

/** The lines that differ, in order, with a few around them; empty when both texts are equal. */
export function lineDiff(
  before: readonly string[],
  after: readonly string[],
  { around, most }: DiffLimits,
): DiffPart[] {
  const { lines, isMatched } = allLines(before, after);
  const isNear = lines.map(() => false);
  for (const [index, { kind }] of lines.entries()) {
    if (kind !== 'same') isNear.fill(true, Math.max(0, index - around), index + around + 1);
  }
  if (!isNear.includes(true)) return [];
  const parts: DiffPart[] = isMatched ? [] : [{ kind: 'unmatched' }];
  let listed = 0;
  for (const [index, line] of lines.entries()) {
    const last = parts.at(-1);
    if (isNear[index] === true && listed < most) {
      parts.push(line);
      listed += 1;
    } else if (last?.kind === 'skipped') {
      last.lines += 1;
    } else {
      parts.push({ kind: 'skipped', lines: 1 });
    }
  }
  return parts;
}

/** All of one, then all of the other, and `isMatched` false where they differ in more than `mostEdits` lines. */
function allLines(before: readonly string[], after: readonly string[]): { lines: DiffLine[]; isMatched: boolean } {
  const changes = diffArrays([...before], [...after], { maxEditLength: mostEdits });
  const whole = [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  const lines = (changes ?? whole).flatMap(({ value, added, removed }) =>
    value.map((text): DiffLine => ({ kind: added ? 'added' : removed ? 'removed' : 'same', text })),
  );
  return { lines, isMatched: changes !== undefined };
}
