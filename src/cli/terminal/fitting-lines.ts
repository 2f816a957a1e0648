import stringWidth from 'string-width';
import type { Screen } from './output.ts';

/** As many lines as a terminal shows at once, with long ones broken; the last one says what is left out. */
export function fittingLines(
  text: string,
  { paint, columns, rows }: Screen,
  leftOut: (lines: number) => string,
): string {
  const lines = text.split('\n');
  const heights = lines.map((line) => Math.max(1, Math.ceil(stringWidth(line) / columns)));
  if (sum(heights) <= rows) return text;
  let [count, used] = [0, 1];
  while (used + (heights[count] ?? 0) <= rows) {
    used += heights[count] ?? 0;
    count += 1;
  }
  return [...lines.slice(0, count), paint.dim(`  … ${leftOut(lines.length - count)}`)].join('\n');
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}
