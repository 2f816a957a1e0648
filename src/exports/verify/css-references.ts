import type { Reference } from './reference.ts';

/** What the scanner stops at: comments and strings, which may contain the others, and namespaces, which load nothing. */
const tokenStart = /\/\*|["']|\burl\(|@import\b|@namespace\b/gi;
const space = /\s*/y;
const bareUrl = /[^\s"')]*/y;

/** What a style sheet loads: `url()` and `@import` (CSS Syntax 3), except in comments and strings. */
export function cssReferences(text: string, by = 'url()', offset = 0): Reference[] {
  const found: Reference[] = [];
  const add = (url: string, name: string, at: number) => {
    if (url !== '') found.push({ kind: 'resource', url: withoutEscapes(url), by: name, at: offset + at });
  };
  // Every step starts after what the last one read, so that any text takes a single pass.
  for (let at = 0; at < text.length; ) {
    tokenStart.lastIndex = at;
    const match = tokenStart.exec(text);
    if (!match) break;
    const token = match[0].toLowerCase();
    const behind = match.index + token.length;
    if (token === '/*') at = after(text, '*/', behind);
    else if (token === '@namespace') at = after(text, ';', behind);
    else if (token === '"' || token === "'") at = stringAt(text, match.index)?.end ?? behind;
    else {
      const start = skip(text, space, behind);
      const string = stringAt(text, start);
      const end = string?.end ?? (token === 'url(' ? skip(text, bareUrl, start) : start);
      const url = string?.value ?? text.slice(start, end);
      add(url, token === 'url(' ? by : '@import', match.index);
      at = Math.max(end, behind);
    }
  }
  return found;
}

/** The string that begins here, up to its closing quote, the end of the line or of the text; null when none does. */
function stringAt(text: string, start: number): { value: string; end: number } | null {
  const quote = text[start];
  if (quote !== '"' && quote !== "'") return null;
  let end = start + 1;
  while (end < text.length && text[end] !== quote && text[end] !== '\n') end += text[end] === '\\' ? 2 : 1;
  return { value: text.slice(start + 1, end), end: end + 1 };
}

function after(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from);
  return at < 0 ? text.length : at + end.length;
}

function skip(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  pattern.exec(text);
  return pattern.lastIndex;
}

/** `\2f ` is a slash, `\(` a bracket. */
function withoutEscapes(url: string): string {
  if (!url.includes('\\')) return url;
  return url.replace(/\\(?:([0-9a-f]{1,6})\s?|([\s\S]))/gi, (_, hex?: string, char?: string) =>
    hex === undefined ? (char ?? '') : String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff)),
  );
}
