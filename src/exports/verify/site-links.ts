import { getMimeType } from 'hono/utils/mime';

/** Where an address leads from within a site. */
type Destination =
  | { kind: 'external'; host: string }
  /** Path from the root of the site, decoded; a folder ends in `/`. */
  | { kind: 'internal'; path: string }
  /** The page itself, or nothing that is fetched (`mailto:`, `data:`, `javascript:`). */
  | { kind: 'nowhere' };

const nowhere: Destination = { kind: 'nowhere' };
const fetched = /^(?:https?|wss?|ftp):$/;

/**
 * Where an address on a page leads (URL Standard, as far as sites use it).
 * @param folder the page's, or the one that its `<base>` names: empty or with `/` at its end
 */
export function destinationOf(address: string, folder: string): Destination {
  const url = address.replace(/[\t\n\r]/g, '').trim();
  const scheme = /^([a-z][a-z0-9+.-]*:)(.*)$/is.exec(url);
  if (scheme) {
    const [, name = '', rest = ''] = scheme;
    return fetched.test(name.toLowerCase()) ? external(rest) : nowhere;
  }
  const slashed = url.replaceAll('\\', '/');
  if (slashed.startsWith('//')) return external(slashed);
  const bare = decode(slashed.replace(/[?#].*$/s, ''));
  if (bare === '') return nowhere;
  return { kind: 'internal', path: normalize(bare.startsWith('/') ? bare.slice(1) : folder + bare) };
}

/** Files that servers send for a path: the file itself, the page of that name, or the folder's index page. */
export function candidatesOf(path: string): string[] {
  if (path === '' || path.endsWith('/')) {
    const page = path.slice(0, -1);
    return page === '' ? ['index.html', 'index.htm'] : [`${path}index.html`, `${path}index.htm`, `${page}.html`];
  }
  return [path, `${path}.html`, `${path}.htm`, `${path}/index.html`, `${path}/index.htm`];
}

/** The folder of a file: empty or with `/` at its end. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

function external(rest: string): Destination {
  const [host = ''] = rest.replace(/^[/\\]*/, '').split(/[/\\?#]/);
  return { kind: 'external', host: host.slice(host.lastIndexOf('@') + 1).toLowerCase() };
}

function decode(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Resolves `.` and `..`; more `..` than folders lead to the root, as in a browser. */
function normalize(path: string): string {
  if (!/(?:^|\/)\.\.?(?:\/|$)/.test(path)) return path;
  const kept: string[] = [];
  const segments = path.split('/');
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (segment === '..') kept.pop();
    else if (segment !== '.') kept.push(segment);
    if (isLast && (segment === '..' || segment === '.')) kept.push('');
  }
  return kept.join('/');
}

const indexPage = 'index.html';

/** The `Content-Type` of a file of a site. */
export function contentTypeOf(path: string): string {
  if (/\.md$/i.test(path)) return 'text/markdown; charset=utf-8';
  return getMimeType(path) ?? 'application/octet-stream';
}

/** Pages are the `.html` files of a site (service-interface.md, appendix: "the archive"). */
export function isPage(path: string): boolean {
  return /\.html?$/i.test(path);
}

/**
 * Why the site has no index page at its root; null when it has one. An archive whose files are all below one folder has
 * none either: unpacked, it would serve nothing at `/`, and dropping the folder would be a guess.
 */
export function missingIndexPage(paths: readonly string[]): string | null {
  if (paths.includes(indexPage)) return null;
  const folder = commonFolder(paths);
  const advice = folder === null ? '' : `; every file lies below the folder "${folder}": pack what is in it`;
  return `there is no ${indexPage} at the root of the archive${advice}`;
}

function commonFolder(paths: readonly string[]): string | null {
  const [first = ''] = paths;
  const end = first.indexOf('/');
  if (end < 0) return null;
  const prefix = first.slice(0, end + 1);
  return paths.every((path) => path.startsWith(prefix)) ? first.slice(0, end) : null;
}
