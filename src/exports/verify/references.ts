import { Parser } from 'htmlparser2';
import { withoutEnd } from '../../rules/text.ts';

/**
 * What a page or style sheet refers to. `link`: a page to go to; `resource`: something loaded with the page; `contact`: a
 * host that is only contacted (ping, preconnect); `base` and `refresh`: the elements of that name.
 */
type ReferenceKind = 'link' | 'resource' | 'contact' | 'base' | 'refresh';

export interface Reference {
  kind: ReferenceKind;
  /** As written, entities decoded. */
  url: string;
  /** The element or rule that refers to it, such as `<img src>`. */
  by: string;
  /** Offset in the text, in UTF-16 units; that of the element when the reference is in an attribute. */
  at: number;
}

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

/** Where the match of a sticky pattern ends that begins at `from`. */
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

/** Bounded: two adjacent unbounded runs of white space would backtrack for ever on a long run. */
const module = /\b(?:import|from|importScripts)\s{0,20}\(?\s{0,20}(["'`])(?<url>(?:https?:)?\/\/[^"'`\s]+)\1/g;
const serviceWorker = /\bserviceWorker\b(?:["']\])?\s{0,20}(?:\?\.|\.)\s{0,20}register\s{0,20}\(/;
const importMapUrl = /"(?<url>(?:https?:)?\/\/[^"\s]+)"/g;

/** Modules and scripts that a script loads from an absolute address. Relative ones a bundler has resolved already. */
export function scriptReferences(text: string, offset = 0): Reference[] {
  return text.includes('//') ? allUrls(text, module, 'import', offset) : [];
}

/** Addresses in a `<script type="importmap">`. */
export function importMapReferences(text: string, offset: number): Reference[] {
  return allUrls(text, importMapUrl, 'import map', offset);
}

function allUrls(text: string, pattern: RegExp, by: string, offset: number): Reference[] {
  return Array.from(text.matchAll(pattern), ({ groups, index }) => {
    return { kind: 'resource', url: groups?.url ?? '', by, at: offset + index };
  });
}

/** Where a script registers a service worker; null when it does not. */
export function serviceWorkerAt(text: string): number | null {
  return text.includes('serviceWorker') ? (serviceWorker.exec(text)?.index ?? null) : null;
}

const spaces = /[\s,]*/y;
const wordPattern = /\S*/y;

/** The addresses of a `srcset` (HTML, "srcset attributes"): each up to white space, descriptors up to a comma. */
export function srcsetUrls(value: string): string[] {
  const urls: string[] = [];
  for (let at = skip(value, spaces, 0); at < value.length; at = skip(value, spaces, at)) {
    const end = skip(value, wordPattern, at);
    const word = value.slice(at, end);
    const url = withoutEnd(word, ',');
    urls.push(url);
    at = url === word ? endOfDescriptors(value, end) : end;
  }
  return urls;
}

/** The offset of the next comma outside brackets. */
function endOfDescriptors(value: string, from: number): number {
  let isWithin = false;
  for (let at = from; at < value.length; at += 1) {
    const char = value[at];
    if (char === ',' && !isWithin) return at;
    if (char === '(') isWithin = true;
    else if (char === ')') isWithin = false;
  }
  return value.length;
}

type Attributes = Readonly<Record<string, string>>;

type Addresses = readonly (readonly [attribute: string, kind: ReferenceKind])[];

const link: Addresses = [['href', 'link']];
const background: Addresses = [['background', 'resource']];
const src: Addresses = [['src', 'resource']];
const svgHref: Addresses = [
  ['href', 'resource'],
  ['xlink:href', 'resource'],
];

/** Attributes that contain one address, by element. */
const addresses = new Map<string, Addresses>(
  Object.entries({
    a: link,
    area: link,
    audio: src,
    base: [['href', 'base']],
    body: background,
    embed: src,
    feimage: svgHref,
    frame: src,
    iframe: src,
    image: svgHref,
    img: src,
    input: src,
    object: [['data', 'resource']],
    script: [...src, ...svgHref],
    source: src,
    table: background,
    td: background,
    track: src,
    use: svgHref,
    video: [...src, ['poster', 'resource']],
  } satisfies Record<string, Addresses>),
);

const loadedLinks =
  /(?:^|\s)(?:stylesheet|icon|apple-touch-icon|mask-icon|preload|prefetch|modulepreload|manifest)(?:\s|$)/i;
const contactedLinks = /(?:^|\s)(?:preconnect|dns-prefetch|pingback)(?:\s|$)/i;

/** Longest refresh that is read: no real address is longer. */
const mostRefreshCharacters = 500;

/** More levels than people write. The parser may look through all open elements for each tag: time grows by the square. */
export const deepestElement = 500;

/** Elements are nested deeper than `deepestElement`. */
export class TooDeep extends Error {}

interface HtmlContent {
  references: Reference[];
  /** The text of `<script>` elements, with its offset in the page. */
  scripts: { text: string; at: number }[];
  /** Where elements are nested too deep: the rest was not read. Null for all but hostile pages. */
  tooDeepAt: number | null;
}

interface HtmlOptions {
  /** For SVG: names are case-sensitive, and elements can be self-closing. */
  isXml?: boolean;
  /** A page within an attribute of another page. */
  isInner?: boolean;
}

/** What a page refers to, element by element in the order of the text. */
export function htmlContent(html: string, { isXml = false, isInner = false }: HtmlOptions = {}): HtmlContent {
  const content: HtmlContent = { references: [], scripts: [], tooDeepAt: null };
  let depth = 0;
  let raw: { element: 'script' | 'style'; type: string; text: string; at: number } | null = null;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        if (depth > deepestElement) throw new TooDeep();
        const element = name.toLowerCase();
        collect(content.references, element, attributes, parser.startIndex);
        if (element === 'iframe' && attributes.srcdoc && !isInner) {
          collectInner(content, attributes.srcdoc, parser.startIndex);
        }
        if (element !== 'script' && element !== 'style') return;
        raw = { element, type: (attributes.type ?? '').toLowerCase(), text: '', at: parser.endIndex + 1 };
      },
      ontext(text) {
        if (raw) raw.text += text;
      },
      onclosetag() {
        depth -= 1;
        if (raw) finish(content, raw);
        raw = null;
      },
    },
    { xmlMode: isXml, decodeEntities: true },
  );
  try {
    parser.end(html);
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    content.tooDeepAt ??= parser.startIndex;
  }
  // References of a style sheet in SVG come at its end, after those of the elements in it.
  content.references.sort((one, other) => one.at - other.at);
  return content;
}

function finish(
  { references, scripts }: HtmlContent,
  { element, type, text, at }: { element: 'script' | 'style'; type: string; text: string; at: number },
): void {
  const isScript = type === '' || type === 'module' || type.includes('javascript');
  let found: Reference[] = [];
  if (element === 'style') found = cssReferences(text, 'url()', at);
  else if (type === 'importmap') found = importMapReferences(text, at);
  else if (isScript) found = scriptReferences(text, at);
  if (element === 'script' && isScript) scripts.push({ text, at });
  for (const reference of found) references.push(reference);
}

function collect(into: Reference[], element: string, attributes: Attributes, at: number): void {
  const add = (attribute: string, kind: ReferenceKind, url: string | undefined) => {
    if (url !== undefined) into.push({ kind, url, by: `<${element} ${attribute}>`, at });
  };
  for (const [attribute, kind] of addresses.get(element) ?? []) add(attribute, kind, attributes[attribute]);
  for (const attribute of ['srcset', 'imagesrcset']) {
    const value = attributes[attribute];
    if (value) for (const url of srcsetUrls(value)) add(attribute, 'resource', url);
  }
  if (attributes.style) for (const found of cssReferences(attributes.style)) into.push({ ...found, at });
  if (element === 'a') for (const url of attributes.ping?.split(/\s+/) ?? []) add('ping', 'contact', url);
  const loaded = element === 'link' ? linkKind(attributes.rel ?? '') : null;
  if (loaded !== null) add('href', loaded, attributes.href);
  if (element === 'meta' && attributes['http-equiv']?.toLowerCase() === 'refresh') {
    add('http-equiv="refresh"', 'refresh', refreshUrl(attributes.content ?? ''));
  }
}

/** The page in a `srcdoc`. Pages nested deeper are ignored, or reading could take hours. */
function collectInner(into: HtmlContent, srcdoc: string, at: number): void {
  const { references, tooDeepAt } = htmlContent(srcdoc, { isInner: true });
  for (const found of references) into.references.push({ ...found, at });
  if (tooDeepAt !== null) into.tooDeepAt ??= at;
}

/** Only these of the many relations make a browser load or contact something. */
function linkKind(relation: string): ReferenceKind | null {
  if (loadedLinks.test(relation)) return 'resource';
  return contactedLinks.test(relation) ? 'contact' : null;
}

/** The address in `5; url=…`; undefined when the page only loads itself again. */
function refreshUrl(content: string): string | undefined {
  const head = content.trim().slice(0, mostRefreshCharacters);
  const [, quoted, plain] =
    /^(?:[\s\d.]*[;,]\s*|(?:[\d.]*\s)+)(?:url\s*=\s*)?(?:["']([^"']*)|(\S.*))/i.exec(head) ?? [];
  return quoted ?? plain?.trim();
}
