import { describe, expect, it } from 'vitest';
import { type ContentChanges, changesMarkdown, changesText } from '../../../src/exports/rules/site-export.ts';

const none = { added: 0, removed: 0, changed: 0, moved: 0 };
const nothing: ContentChanges = {
  against: 'v1',
  pages: none,
  others: none,
  listed: { added: [], removed: [], changed: [], moved: [] },
};

describe('changesText', () => {
  it.each([
    [{}, 'no page differs'],
    [{ pages: { ...none, added: 3, removed: 1, changed: 12 } }, 'pages: 3 added, 1 removed, 12 changed'],
    [{ pages: { ...none, changed: 1 }, others: { ...none, added: 1 } }, 'pages: 1 changed; 1 other file'],
    [{ others: { added: 2, removed: 1, changed: 1, moved: 1 } }, 'no page differs; 5 other files'],
    [{ against: null, pages: { ...none, added: 40 } }, '40 pages, the first version'],
  ])('%j: %s', (changes, text) => {
    expect(changesText({ ...nothing, ...changes })).toBe(text);
  });
});

describe('changesMarkdown', () => {
  it('lists paths by kind, and how many more there are', () => {
    const text = changesMarkdown({
      ...nothing,
      pages: { ...none, added: 3, changed: 1, moved: 2 },
      listed: { added: ['a.html', 'b.html'], removed: [], changed: ['c.html'], moved: ['d.html', 'e.html'] },
    });
    expect(text).toContain('| pages | 3 added, 0 removed, 1 changed, 2 moved |');
    expect(text).toContain('Pages added:\n\n- `a.html`\n- `b.html`\n- and 1 more');
    expect(text).toContain('Pages changed:\n\n- `c.html`');
    expect(text).toContain('Pages moved:\n\n- `d.html`\n- `e.html`');
    expect(text).not.toContain('Pages removed');
  });

  it('does not let a path out of its code span', () => {
    const path = '`](https://evil.example)`<img src=x>.html';
    const text = changesMarkdown({ ...nothing, listed: { ...nothing.listed, added: [path] } });
    expect(text).toContain("- `'](https://evil.example)'<img src=x>.html`");
  });
});
