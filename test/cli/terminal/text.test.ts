import { describe, expect, it } from 'vitest';
import { printable, tableLines } from '../../../src/cli/terminal/text.ts';

describe('columns of a table', () => {
  it('line up in a terminal, with wide and combining characters and colours', () => {
    const rows = [
      ['/ガイド', '1'],
      ['/e\u0301te\u0301', '2'],
      ['\u001b[31m/red\u001b[39m', '3'],
    ];
    expect(tableLines(['page', 'n'], rows).split('\n')).toEqual([
      'page     n',
      '/ガイド  1',
      '/e\u0301te\u0301     2',
      '\u001b[31m/red\u001b[39m     3',
    ]);
  });
});

describe('a long foreign text', () => {
  it('is cut between characters', () => {
    expect(printable('👍'.repeat(61))).toBe(`${'👍'.repeat(29)}…${'👍'.repeat(29)}`);
  });
});
