/** A line that both texts have, or one of them alone. */
export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** What differs; `skipped` counts lines that both have, or that are too many to show, between what is listed. */
export type DiffPart = DiffLine | { kind: 'skipped'; lines: number };

export interface DiffLimits {
  /** Lines that both have, shown around each difference. */
  around: number;
  /** Most lines listed; the rest is skipped. */
  most: number;
}

/** The table that finds the longest common subsequence has a cell for each pair of lines. */
const mostCells = 1_000_000;

/** The lines that differ, in order, with a few around them; empty when both texts are equal. */
export function lineDiff(
  before: readonly string[],
  after: readonly string[],
  { around, most }: DiffLimits,
): DiffPart[] {
  const lines = allLines(before, after);
  const isNear = lines.map(() => false);
  for (const [index, { kind }] of lines.entries()) {
    if (kind !== 'same') isNear.fill(true, Math.max(0, index - around), index + around + 1);
  }
  if (!isNear.includes(true)) return [];
  const parts: DiffPart[] = [];
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

function allLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (text: string): DiffLine => ({ kind: 'same', text });
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** By the longest common subsequence; all of one, then all of the other, when the texts are too long for its table. */
function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (before.length * after.length > mostCells) return [...before.map(removed), ...after.map(added)];
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  const [olds = [], freshes = []] = numbered(before, after);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = olds[i] === freshes[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old = '', fresh = ''] = [before[i], after[j]];
    if (i < before.length && j < after.length && old === fresh) {
      lines.push({ kind: 'same', text: old });
      i += 1;
      j += 1;
    } else if (i < before.length && (j === after.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(old));
      i += 1;
    } else {
      lines.push(added(fresh));
      j += 1;
    }
  }
  return lines;
}

/** Equal lines as equal numbers: long ones that begin alike would take long to compare, each with each. */
function numbered(...texts: readonly (readonly string[])[]): number[][] {
  const numbers = new Map<string, number>();
  return texts.map((lines) =>
    lines.map((line) => {
      const number = numbers.get(line) ?? numbers.size;
      numbers.set(line, number);
      return number;
    }),
  );
}
