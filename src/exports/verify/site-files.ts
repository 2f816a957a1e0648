import { join } from 'node:path';
import { candidatesOf } from './site-links.ts';

/** What a web server of the site would answer. */
export interface SiteAnswer {
  status: 200 | 404;
  /** Null for an answer without a body. */
  file: string | null;
  type: string;
}

const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  map: 'application/json; charset=utf-8',
  webmanifest: 'application/manifest+json; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ico: 'image/x-icon',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  otf: 'font/otf',
  wasm: 'application/wasm',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
};

/** The files of an unpacked site as a web server sends them; only listed files are ever named. */
export class SiteFiles {
  readonly #folder: string;
  readonly #paths: ReadonlySet<string>;

  constructor(folder: string, paths: readonly string[]) {
    this.#folder = folder;
    this.#paths = new Set(paths);
  }

  /** @param pathname of a URL, still encoded */
  answer(pathname: string): SiteAnswer {
    const path = decoded(pathname)?.replace(/^\//, '');
    const found = path === undefined ? undefined : candidatesOf(path).find((candidate) => this.#paths.has(candidate));
    if (found !== undefined) return { status: 200, file: join(this.#folder, found), type: typeOf(found) };
    const page = this.#paths.has('404.html') ? join(this.#folder, '404.html') : null;
    return { status: 404, file: page, type: 'text/html; charset=utf-8' };
  }
}

/** The address of a file of the site. */
export function addressOf(origin: string, path: string): string {
  return `${origin}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

function typeOf(path: string): string {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return types[extension] ?? 'application/octet-stream';
}

function decoded(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
}
