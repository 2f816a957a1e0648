import { describe, expect, it } from 'vitest';
import { documentKey } from '../../../src/feedback/rules/report-figures.ts';

describe('the key of a document', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['https://docs.example/a/b?x#y', '/a/b'],
    ['HTTP://docs.example:8080/a/b', '/a/b'],
    ['/a/b/', '/a/b'],
    ['/a/b#y?x', '/a/b'],
    ['/a?next=https://b.example/c', '/a'],
    ['https://docs.example', '/'],
    ['https://docs.example/?x', '/'],
    ['/', '/'],
    ['', ''],
    ['guide.md', 'guide.md'],
    ['/a//b', '/a//b'],
    ['/go/https://b.example/c', '/go/https://b.example/c'],
    ['/A/b', '/A/b'],
    ['/line\nbreak?x\ny', '/line\nbreak'],
  ])('of %j is %j', (path, key) => {
    expect(documentKey(path)).toBe(key);
    expect(documentKey(key)).toBe(key);
  });

  it('costs little for a path of slashes only', () => {
    expect(documentKey(`/${'/'.repeat(1_000_000)}b`)).toHaveLength(1_000_002);
  });
});
