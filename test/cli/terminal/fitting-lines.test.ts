import { createColors } from 'picocolors';
import { expect, it } from 'vitest';
import { fittingLines } from '../../../src/cli/context.ts';

const paint = createColors(false);
const lines = (count: number, text = 'line') => Array.from({ length: count }, (_, n) => `${text} ${n + 1}`).join('\n');
const left = (count: number) => `${count} more waiting`;

it('leaves out the lines that do not fit a screen, broken ones counted as often as they break', () => {
  const screen = { paint, columns: 10, rows: 4 };
  expect(fittingLines(lines(4), screen, left)).toBe(lines(4));
  expect(fittingLines(lines(200), screen, left)).toBe(`${lines(3)}\n  … 197 more waiting`);
  expect(fittingLines(lines(3, 'a longer line'), screen, left)).toBe('a longer line 1\n  … 2 more waiting');
  expect(fittingLines(lines(500), { ...screen, rows: Number.POSITIVE_INFINITY }, left)).toBe(lines(500));
});
