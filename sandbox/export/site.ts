import { createCipheriv, createHash } from 'node:crypto';
import { posix } from 'node:path';
import { createRandom, pick, seedOf } from '../random.ts';

/** One published state of a site, and the part of it to be exported. */
export interface SiteContent {
  domain: string;
  seed: number;
  /** Pages of the whole site, the index included. */
  pages: number;
  padBytes: number;
  /** Each revision changes one page. */
  revision: number;
  /** Label of the export; null: the latest published. */
  version: string | null;
  /** Page paths to export besides the index; null: all. */
  paths: readonly string[] | null;
}

/** A file of a rendered site; its bytes come in chunks of at most 1 MiB. */
export interface SiteFile {
  path: string;
  size: number;
  /** Whether compression helps. */
  compressible: boolean;
  chunks(): Iterable<Buffer>;
}

const sections = ['guides', 'reference/api', 'tutorials', 'concepts/advanced'] as const;
const vocabularyWords = [
  'deploy',
  'token',
  'cursor',
  'page',
  'the',
  'a',
  'request',
  'grüßt',
  'site',
  '文書',
  'client',
  'retry',
] as const;
const unicodePage = '/sprachen/grüße';
const chunk = 1_048_576;

/** Paths of all pages of a site, the index (`/`) first. */
export function pagePaths(pages: number): string[] {
  return Array.from({ length: pages }, (_, index) => {
    if (index === 0) return '/';
    if (index === 9) return unicodePage;
    return `/${sections[index % sections.length]}/page-${index}`;
  });
}

/** Renders a site to self-contained files (service-interface.md, What the service does): the same content, the same bytes. */
export function* renderSite(content: SiteContent): Generator<SiteFile> {
  const all = pagePaths(content.pages);
  const wanted = content.paths === null ? null : new Set(content.paths);
  const exported = all.filter((path) => path === '/' || wanted === null || wanted.has(path));
  for (const [index, path] of exported.entries()) {
    const number = all.indexOf(path);
    const text = paragraphs(content, number);
    yield textFile(fileOf(path), pageHtml(content, exported, index, text));
    yield textFile(payloadOf(path), JSON.stringify({ path, revision: lastTouched(content, number), text }));
  }
  yield textFile('404.html', layout('404.html', 'Not found', '<p>There is no such page.</p>', ['/']));
  yield textFile(
    'assets/site.css',
    'body { font-family: sans-serif; max-width: 48rem; background: url("logo.svg") }\n',
  );
  yield textFile('assets/site.js', "document.documentElement.dataset.ready = 'true';\n");
  yield textFile('assets/logo.svg', logo);
  yield textFile(
    '_payload/site.json',
    JSON.stringify({ domain: content.domain, version: content.version ?? 'latest' }),
  );
  yield textFile('search-index.json', JSON.stringify(exported.map((path) => ({ path, title: titleOf(path) }))));
  if (content.padBytes > 0) yield padFile(content);
}

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="#07c"/></svg>\n';

function pageHtml(content: SiteContent, exported: readonly string[], index: number, text: readonly string[]): string {
  const path = exported[index] ?? '/';
  const file = fileOf(path);
  const neighbours = ['/', exported[index - 1], exported[index + 1], exported[(index * 7 + 3) % exported.length]];
  const links = [...new Set(neighbours.filter((link) => link !== undefined))];
  const body = [
    ...text.map((paragraph) => `<p>${paragraph}</p>`),
    `<img src="${relative(file, 'assets/logo.svg')}" alt="logo">`,
    `<footer>${content.domain}</footer>`,
  ].join('\n');
  return layout(file, titleOf(path), body, links);
}

function layout(file: string, title: string, body: string, links: readonly string[]): string {
  const items = links.map((link) => `<li><a href="${relative(file, fileOf(link))}">${titleOf(link)}</a></li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<link rel="stylesheet" href="${relative(file, 'assets/site.css')}">
<script defer src="${relative(file, 'assets/site.js')}"></script>
</head>
<body>
<h1>${title}</h1>
<nav><ul>${items.join('')}</ul></nav>
${body}
</body>
</html>
`;
}

function fileOf(path: string): string {
  return path === '/' ? 'index.html' : `${path.slice(1)}.html`;
}

function payloadOf(path: string): string {
  return path === '/' ? '_payload/index.json' : `_payload/${path.slice(1)}.json`;
}

function titleOf(path: string): string {
  return path === '/' ? 'Home' : posix.basename(path);
}

/** A link from one file of the site to another. */
function relative(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to).split('/').map(encodeURIComponent).join('/');
}

/** The latest revision that changed a page: revision r changes page r modulo the number of pages. */
function lastTouched({ revision, pages }: SiteContent, number: number): number {
  return revision < number ? 0 : revision - ((revision - number) % pages);
}

function paragraphs(content: SiteContent, number: number): string[] {
  const random = createRandom(seedOf(content.seed, content.domain, number, lastTouched(content, number)));
  return Array.from({ length: 3 + (number % 4) }, () => {
    const words = Array.from({ length: 40 + Math.floor(random() * 60) }, () => pick(random, vocabularyWords));
    return `${words.join(' ')}.`;
  });
}

function textFile(path: string, text: string): SiteFile {
  const bytes = Buffer.from(text);
  return { path, size: bytes.length, compressible: true, chunks: () => [bytes] };
}

/** Incompressible bytes, the same for the same site: the key stream of a cipher. */
function padFile({ domain, seed, padBytes }: SiteContent): SiteFile {
  function* chunks(): Generator<Buffer> {
    const key = createHash('sha256').update(`${seed} ${domain}`).digest();
    const cipher = createCipheriv('aes-128-ctr', key.subarray(0, 16), key.subarray(16));
    const zeros = Buffer.alloc(chunk);
    for (let left = padBytes; left > 0; left -= chunk) yield cipher.update(zeros.subarray(0, Math.min(chunk, left)));
  }
  return { path: 'assets/pad.bin', size: padBytes, compressible: false, chunks };
}
