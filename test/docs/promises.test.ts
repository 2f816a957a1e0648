import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync('docs/promises.md', 'utf8');
const promises = page.split(/^(?=- \*\*)/m).slice(1);

describe('docs/promises.md', () => {
  it('names tests for every promise, each promise once', () => {
    const ids = promises.map((text) => /^- \*\*([BSEX]\d+) /.exec(text)?.[1]);
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
    expect(promises.filter((text) => !text.includes('.test.ts'))).toEqual([]);
  });

  it('stays short enough to be read', () => {
    expect(page.split('\n').length).toBeLessThan(90);
  });
});
