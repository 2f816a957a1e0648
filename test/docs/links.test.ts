import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentationPages } from './console-blocks.ts';
import { anchorsOf, namedPaths, type PageLink, pageLinks } from './page-links.ts';
import { testNames } from './test-names.ts';

const pages = documentationPages();
const links = pages.flatMap((page) => pageLinks(page).map((found) => ({ page, ...found })));

/** What is wrong with a link; null when nothing is. */
function complaint({ page, place, path, anchor, title }: PageLink & { page: string }): string | null {
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(target)) return `${place}: there is no ${target}`;
  const text = () => readFileSync(target, 'utf8');
  if (anchor !== null && !anchorsOf(text()).includes(anchor)) return `${place}: ${target} has no heading #${anchor}`;
  if (title === null || testNames(text()).some((name) => name.includes(title))) return null;
  return `${place}: ${target} has no test "${title}"`;
}

describe('links in the documentation', () => {
  it('lead to files, headings and tests that are there', () => {
    expect(links.length).toBeGreaterThan(100);
    expect(links.map(complaint).filter((text) => text !== null)).toEqual([]);
  });

  it('reach every page from the README', () => {
    const reached = new Set(['README.md']);
    for (const page of reached) {
      for (const { path } of links.filter((found) => found.page === page)) {
        if (path.endsWith('.md')) reached.add(join(dirname(page), path));
        if (path.endsWith('/'))
          for (const inside of pages) if (inside.startsWith(join(dirname(page), path))) reached.add(inside);
      }
    }
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });

  it('are matched by files and folders named in the text that are there', () => {
    const named = pages.flatMap((page) => namedPaths(page));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ path }) => !existsSync(path))).toEqual([]);
  });
});

describe('the check of links', () => {
  const page =
    '# A `b`: c\n\n[x](y.md#z "t") ![i](<no>) `src/{a,b}/c.ts`\n```sh\n[q](r.md) `src/d`\n```\n[w](https://h)\n';

  it('reads links with anchor and title, outside of code blocks', () => {
    expect(pageLinks('p.md', page)).toEqual([
      { place: 'p.md:3', path: 'y.md', anchor: 'z', title: 't' },
      { place: 'p.md:3', path: '<no>', anchor: null, title: null },
    ]);
    expect(namedPaths('p.md', page).map(({ path }) => path)).toEqual(['src/a/c.ts', 'src/b/c.ts']);
    expect(anchorsOf(page)).toEqual(['a-b-c']);
  });

  it.each([
    [{ path: 'no.md' }, 'there is no docs/no.md'],
    [{ path: '../README.md', anchor: 'nowhere' }, 'README.md has no heading #nowhere'],
    [{ path: '../test/docs/links.test.ts', title: 'no such' }, 'test/docs/links.test.ts has no test "no such"'],
    [{ path: '../test/docs/links.test.ts', title: 'links in the documentation > lead' }, null],
  ])('says of %j: %j', (wrong, says) => {
    const found = complaint({ page: 'docs/p.md', place: 'p', anchor: null, title: null, ...wrong });
    expect(found).toBe(says === null ? null : `p: ${says}`);
  });
});
