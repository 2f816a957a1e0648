import { describe, expect, it } from 'vitest';
import { displayWidth } from '../../src/cli/display-width.ts';
import { printable, tableLines } from '../../src/cli/text.ts';

describe('columns of a terminal', () => {
  it.each([
    ['/guides', 7],
    ['/ガイド/はじめに', 16],
    ['/sprachen/grüße', 15],
    ['/sprachen/gru\u0308ße', 15],
    ['한국어', 6],
    ['👍 ok', 5],
    ['𠮷', 2],
    ['\u001b[31mred\u001b[39m', 3],
    ['█░▒·', 4],
  ])('%s takes %i', (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  it('a table lines up whatever its cells are written in', () => {
    const lines = tableLines(
      ['page', 'votes'],
      [
        ['/ガイド', '1'],
        ['/guides', '2'],
      ],
    ).split('\n');
    expect(lines).toEqual(['page     votes', '/ガイド  1', '/guides  2']);
  });

  it('a long text is cut between characters', () => {
    expect(printable('👍'.repeat(61))).toBe(`${'👍'.repeat(29)}…${'👍'.repeat(29)}`);
  });
});
