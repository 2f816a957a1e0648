import { readFileSync } from 'node:fs';

/** A Markdown link or image of a page, to a place in the repository. */
export interface PageLink {
  /** `docs/budget.md:12` */
  place: string;
  /** As written, without the part behind `#`; empty for the page itself. */
  path: string;
  anchor: string | null;
  /** `[text](path "title")`: of a link to a test file, part of a test's name. */
  title: string | null;
}

const link = /\]\(([^)\s#]*)(?:#([^)\s]+))?(?:\s+"([^"]*)")?\)/g;
const codePath = /^(?:(?:src|test|bench|sandbox|scripts|deploy|dist)\/[\w./{},-]+|docs\/[\w./-]+\.\w+)$/;

/** Links of a page, those to other hosts left out. */
export function pageLinks(page: string, text = readFileSync(page, 'utf8')): PageLink[] {
  return proseLines(text).flatMap(({ line, number }) =>
    [...line.matchAll(link)]
      .map(([, path = '', anchor = null, title = null]) => ({ place: `${page}:${number}`, path, anchor, title }))
      .filter(({ path }) => !/^[a-z]+:/.test(path)),
  );
}

/** Files and folders of the repository that a page names in backquotes; what `npm run build` makes by its source. */
export function namedPaths(page: string, text = readFileSync(page, 'utf8')): { place: string; path: string }[] {
  return proseLines(text).flatMap(({ line, number }) =>
    [...line.matchAll(/`([^`\s]+)`/g)]
      .flatMap(([, path = '']) => (codePath.test(path) ? withAlternatives(path) : []))
      .map((path) => ({ place: `${page}:${number}`, path: path.replace(/^dist\/(.*)\.js$/, '$1.ts') })),
  );
}

/** The anchors of a page, as they are made from its headings. */
export function anchorsOf(text: string): string[] {
  return proseLines(text).flatMap(({ line }) => {
    const [, heading] = /^#{1,6} (.+)$/.exec(line) ?? [];
    if (heading === undefined) return [];
    const bare = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '');
    return [bare.trim().replaceAll(/\s/g, '-')];
  });
}

/** The lines of a page outside of its code blocks, numbered from 1. */
function proseLines(text: string): { line: string; number: number }[] {
  let inBlock = false;
  return text.split('\n').flatMap((line, index) => {
    const fence = /^\s*```/.test(line);
    if (fence) inBlock = !inBlock;
    return fence || inBlock ? [] : [{ line, number: index + 1 }];
  });
}

/** `src/{a,b}.ts` as `src/a.ts` and `src/b.ts`. */
function withAlternatives(path: string): string[] {
  const [, before = '', inside, after = ''] = /^(.*?)\{([^}]*)\}(.*)$/.exec(path) ?? [];
  if (inside === undefined) return [path];
  return inside.split(',').flatMap((part) => withAlternatives(before + part + after));
}
