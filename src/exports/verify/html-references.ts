import { Parser } from 'htmlparser2';
import { cssReferences } from './css-references.ts';
import type { Reference, ReferenceKind } from './reference.ts';
import { importMapReferences, scriptReferences } from './script-references.ts';
import { srcsetUrls } from './srcset.ts';

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

/**
 * Elements within each other that are read, more than people write. For each tag the parser may look through all that are
 * open: without a limit, time would grow by the square.
 */
export const deepestElement = 500;

class TooDeep extends Error {}

export interface HtmlContent {
  references: Reference[];
  /** The text of `<script>` elements, with its offset in the page. */
  scripts: { text: string; at: number }[];
  /** Where elements stand too deep within each other: nothing was read from there on. Null for all but hostile pages. */
  tooDeepAt: number | null;
}

export interface HtmlOptions {
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
  // Those of a style sheet in SVG come when it ends, behind those of the elements in it.
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
