import { describe, expect, it } from 'vitest';
import { naturalOrder } from '../../src/rules/text.ts';

describe('the natural order of names', () => {
  it('counts, and does not depend on the order before', () => {
    const names = ['docs.acme.example', 'docs1.acme.example', 'docs2.acme.example', 'docs10.acme.example'];
    expect([...names].reverse().sort(naturalOrder)).toEqual(names);
    expect(['b', 'B', 'a', 'A10', 'A9'].sort(naturalOrder)).toEqual(['a', 'A9', 'A10', 'b', 'B']);
  });

  it('tells apart what a collator takes for equal', () => {
    expect([naturalOrder('docs01', 'docs1'), naturalOrder('docs1', 'docs01')].map(Math.sign).sort()).toEqual([-1, 1]);
    expect(naturalOrder('docs1', 'docs1')).toBe(0);
  });
});
