import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync('docs/promises.md', 'utf8');
const promises = [...page.matchAll(/^- \*\*([BSEX]\d+)\*\* .* Tests: (.*)$/gm)].map(([, id, tests = '']) => ({
  id,
  tests,
}));

describe('docs/promises.md', () => {
  it('names tests for every promise, each promise once', () => {
    const ids = promises.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
    expect(promises.filter(({ tests }) => !tests.includes('.test.ts'))).toEqual([]);
  });

  it('stays short enough to be read', () => {
    expect(page.split('\n').length).toBeLessThan(90);
  });
});
