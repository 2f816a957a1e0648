import { Parser } from 'htmlparser2';
import { cssReferences } from './css-references.ts';
import type { Reference, ReferenceKind } from './reference.ts';
import { importMapReferences, scriptReferences } from './script-references.ts';
import { srcsetUrls } from './srcset.ts';

type Attributes = Readonly<Record<string, string>>;

/** Attributes that hold one address, by element; `*` stands for any. */
const ADDRESSES: Readonly<Record<string, readonly (readonly [string, ReferenceKind])[]>> = {
  a: [['href', 'link']],
  area: [['href', 'link']],
  audio: [['src', 'resource']],
  base: [['href', 'base']],
  body: [['background', 'resource']],
  embed: [['src', 'resource']],
  feimage: [
    ['href', 'resource'],
    ['xlink:href', 'resource'],
  ],
  frame: [['src', 'resource']],
  iframe: [['src', 'resource']],
  image: [
    ['href', 'resource'],
    ['xlink:href', 'resource'],
  ],
  img: [['src', 'resource']],
  input: [['src', 'resource']],
  object: [['data', 'resource']],
  script: [
    ['src', 'resource'],
    ['href', 'resource'],
    ['xlink:href', 'resource'],
  ],
  source: [['src', 'resource']],
  table: [['background', 'resource']],
  td: [['background', 'resource']],
  track: [['src', 'resource']],
  use: [
    ['href', 'resource'],
    ['xlink:href', 'resource'],
  ],
  video: [
    ['src', 'resource'],
    ['poster', 'resource'],
  ],
};

const LOADED_LINKS =
  /(?:^|\s)(?:stylesheet|icon|apple-touch-icon|mask-icon|preload|prefetch|modulepreload|manifest)(?:\s|$)/i;
const CONTACTED_LINKS = /(?:^|\s)(?:preconnect|dns-prefetch|pingback)(?:\s|$)/i;

export interface HtmlContent {
  references: Reference[];
  /** What stands in `<script>` elements, with its place in the text. */
  scripts: { text: string; at: number }[];
}

/** What a page refers to, in the order of the text. @param isXml for SVG, where case matters and elements close themselves */
export function htmlContent(html: string, isXml = false): HtmlContent {
  const content: HtmlContent = { references: [], scripts: [] };
  let raw: { element: 'script' | 'style'; type: string; text: string; at: number } | null = null;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const element = name.toLowerCase();
        collect(content.references, element, attributes, parser.startIndex);
        if (element !== 'script' && element !== 'style') return;
        raw = { element, type: (attributes.type ?? '').toLowerCase(), text: '', at: parser.endIndex + 1 };
      },
      ontext(text) {
        if (raw) raw.text += text;
      },
      onclosetag() {
        if (raw) finish(content, raw);
        raw = null;
      },
    },
    { xmlMode: isXml, decodeEntities: true },
  );
  parser.end(html);
  return content;
}

function finish(
  { references, scripts }: HtmlContent,
  { element, type, text, at }: { element: 'script' | 'style'; type: string; text: string; at: number },
): void {
  if (element === 'style') {
    references.push(...cssReferences(text, 'url()', at));
  } else if (type === 'importmap') {
    references.push(...importMapReferences(text, at));
  } else if (type === '' || type === 'module' || type.includes('javascript')) {
    references.push(...scriptReferences(text, at));
    scripts.push({ text, at });
  }
}

function collect(into: Reference[], element: string, attributes: Attributes, at: number): void {
  const add = (attribute: string, kind: ReferenceKind, url: string | undefined) => {
    if (url !== undefined) into.push({ kind, url, by: `<${element} ${attribute}>`, at });
  };
  for (const [attribute, kind] of ADDRESSES[element] ?? []) add(attribute, kind, attributes[attribute]);
  for (const attribute of ['srcset', 'imagesrcset']) {
    const value = attributes[attribute];
    if (value) for (const url of srcsetUrls(value)) add(attribute, 'resource', url);
  }
  if (attributes.style) into.push(...cssReferences(attributes.style).map((found) => ({ ...found, at })));
  if (element === 'a') for (const url of attributes.ping?.split(/\s+/) ?? []) add('ping', 'contact', url);
  const loaded = element === 'link' ? linkKind(attributes.rel ?? '') : null;
  if (loaded !== null) add('href', loaded, attributes.href);
  if (element === 'meta' && attributes['http-equiv']?.toLowerCase() === 'refresh') {
    add('http-equiv="refresh"', 'refresh', refreshUrl(attributes.content ?? ''));
  }
  if (element === 'iframe' && attributes.srcdoc) {
    into.push(...htmlContent(attributes.srcdoc).references.map((found) => ({ ...found, at })));
  }
}

/** Of the many relations only these make a browser load or contact something. */
function linkKind(relation: string): ReferenceKind | null {
  if (LOADED_LINKS.test(relation)) return 'resource';
  return CONTACTED_LINKS.test(relation) ? 'contact' : null;
}

/** The address in `5; url=…`; undefined when the page only loads itself again. */
function refreshUrl(content: string): string | undefined {
  const [, quoted, plain] = /^[\s\d.]*[;,\s]\s*(?:url\s*=\s*)?(?:["']([^"']*)|(\S.*))/i.exec(content) ?? [];
  return quoted ?? plain?.trim();
}
