import type { Reference } from './reference.ts';

/**
 * Comments and `@namespace`, whose addresses are only names, come first, so that they are passed over; then `@import`
 * of a string, `url(…)`, and strings, in which nothing is looked for.
 */
const TOKEN =
  /\/\*[\s\S]*?(?:\*\/|$)|@namespace\b[^;]*;|(@import\s+)(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')|url\(\s*(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|([^\s"')]*))\s*\)|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/gi;

/** What a style sheet loads: `url()` and `@import` (CSS Syntax 3), comments and strings left out. */
export function cssReferences(text: string, by = 'url()', offset = 0): Reference[] {
  const found: Reference[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const [, isImport, importA, importB, urlA, urlB, urlC] = match;
    const url = importA ?? importB ?? urlA ?? urlB ?? urlC;
    if (url === undefined || url === '') continue;
    found.push({ kind: 'resource', url: withoutEscapes(url), by: isImport ? '@import' : by, at: offset + match.index });
  }
  return found;
}

/** `\2f ` is a slash, `\(` a bracket. */
function withoutEscapes(url: string): string {
  return url.replace(/\\(?:([0-9a-f]{1,6})\s?|([\s\S]))/gi, (_, hex?: string, char?: string) =>
    hex === undefined ? (char ?? '') : String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff)),
  );
}
