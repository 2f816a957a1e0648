import { describe, expect, it } from 'vitest';
import { type DiffLimits, lineDiff } from '../../../src/exports/verify/compare-pages.ts';

/** One letter a line: ` a` for both, `-a` and `+a` for one of them, `…3` for those that are skipped. */
function diff(before: string, after: string, limits: Partial<DiffLimits> = {}): string {
  return lineDiff([...before], [...after], { around: 1, most: 100, ...limits })
    .map((part) => ('text' in part ? `${signs[part.kind]}${part.text}` : 'lines' in part ? `…${part.lines}` : '?'))
    .join(' ');
}

const signs = { same: '=', removed: '-', added: '+' };

describe('lineDiff', () => {
  it.each([
    ['abcdefg', 'abcXefg', '…2 =c -d +X =e …2'],
    ['abc', 'abcd', '…2 =c +d'],
    ['abc', 'bc', '-a =b …1'],
    ['', 'ab', '+a +b'],
    ['ab', '', '-a -b'],
    ['abcd', 'bdca', '-a =b -c =d +c +a'],
    ['abcdefghij', 'aXcdefghYj', '=a -b +X =c …4 =h -i +Y =j'],
  ])('%s → %s', (before, after, shown) => {
    expect(diff(before, after)).toBe(shown);
  });

  it('finds nothing between equal texts', () => {
    expect(diff('abc', 'abc')).toBe('');
    expect(diff('', '')).toBe('');
  });

  it('lists no more lines than asked for, and counts the others', () => {
    expect(diff('abc', 'xyz', { most: 4 })).toBe('-a -b -c +x …2');
  });

  it('gives every line of both texts back, however they differ', () => {
    const random = (seed: number) => [...'abcd'.repeat(10)].filter((_, index) => (index * seed) % 7 < 4);
    for (let seed = 1; seed < 40; seed += 1) {
      const [before, after] = [random(seed), random(seed + 3)];
      const parts = lineDiff(before, after, { around: 100, most: 1_000 });
      if (parts.length === 0) {
        expect(after).toEqual(before);
        continue;
      }
      const side = (kind: string) => parts.flatMap((part) => ('text' in part && part.kind !== kind ? [part.text] : []));
      expect(side('added')).toEqual(before);
      expect(side('removed')).toEqual(after);
    }
  });

  it('matches long texts that differ in a few lines', () => {
    const before = Array.from({ length: 5_000 }, (_, number) => `line ${number}`);
    const after = before.toSpliced(4_000, 1, 'new').toSpliced(100, 1);
    const shown = lineDiff(before, after, { around: 0, most: 10 }).filter(({ kind }) => kind !== 'skipped');
    expect(shown).toEqual([
      { kind: 'removed', text: 'line 100' },
      { kind: 'removed', text: 'line 4000' },
      { kind: 'added', text: 'new' },
    ]);
  });

  it('takes texts that differ too much to be matched as all removed and all added', () => {
    const lines = (name: string) => Array.from({ length: 1_500 }, (_, number) => `${name} ${number}`);
    const parts = lineDiff(lines('a'), lines('b'), { around: 1, most: 2 });
    expect(parts).toEqual([
      { kind: 'unmatched' },
      { kind: 'removed', text: 'a 0' },
      { kind: 'removed', text: 'a 1' },
      { kind: 'skipped', lines: 2_998 },
    ]);
  });
});
