import { randomBytes } from 'node:crypto';
import { createReadStream, mkdirSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createAdaptorServer } from '@hono/node-server';
import { type BundleStore, NoSuchVersion, VersionDamaged } from '../exports/store/bundle-store.ts';
import { provenManifest } from '../exports/store/manifests.ts';
import { SiteFiles } from '../exports/verify/find-browser.ts';
import { type FileLock, tryLock } from '../files.ts';
import { keepConnections, listen, requestLimits, stopListening } from '../http-server.ts';
import { isLoopback } from '../rules/proxy.ts';
import { sizeText } from '../rules/text.ts';
import { Semaphore } from '../semaphore.ts';
import { ConsoleFailure } from './console-failure.ts';
import type { KnownHosts } from './security/request-guard.ts';
import type { Session } from './security/sessions.ts';

/** A preview that a person has open. */
interface Preview {
  domain: string;
  version: string;
  session: Session;
  /** In milliseconds since the epoch. */
  until: number;
}

/** The unpacked files of a version. */
interface Unpacked {
  /** Rejects if a file differs from the manifest. */
  site: Promise<{ folder: string; files: SiteFiles }>;
  isReady: boolean;
  usedAt: number;
}

interface PreviewOptions {
  bundles(): Promise<BundleStore>;
  /** `console.previewUrl`; null: names below `localhost` when the console's address is loopback, else no previews. */
  previewUrl: string | null;
  /** Address of the console for browsers, and its own host and port. */
  url: string;
  host: string;
  port: number;
  /** Names of the console, which no preview has. Only pages of these origins may frame a preview. */
  known: KnownHosts;
}

const lifetimeMs = 60 * 60_000;
const mostPreviews = 500;
const mostUnpacked = 4;
/** The console keeps so many that it unpacks, or that a person asked for within the last minute. */
const mostInUse = 12;
const inUseMs = 60_000;
const largestSite = 2 * 1024 ** 3;
const unpackWithinMs = 10 * 60_000;
const connections = 256;

/**
 * Shows versions as websites, each on an origin of its own (console.md "Preview"). Its host name is a token, so that links
 * from the root work; with a single `previewUrl`, one version at a time is open. Pages run in a sandbox without an origin:
 * they have no cookies, storage or service workers, load nothing from elsewhere, and read nothing of the console.
 */
export class Previews {
  readonly #options: PreviewOptions;
  /** Address with `*` in place of the token, or the single address; null if previews have no address. */
  readonly #pattern: URL | null;
  /** By token. */
  readonly #open = new Map<string, Preview>();
  readonly #unpacked = new Map<string, Unpacked>();
  readonly #slot = new Semaphore(1);
  readonly #sweeping: NodeJS.Timeout;
  /** Made for the first version. */
  #place: { folder: string; lock: FileLock } | null = null;
  /** Serves the one open version when previews have a single address. */
  #single: { server: Server; token: string | null } | null = null;

  constructor(options: PreviewOptions) {
    this.#options = options;
    const { previewUrl, url, port } = options;
    const address = previewUrl ?? (isLoopback(new URL(url).hostname) ? `http://*.localhost:${port}` : null);
    this.#pattern = address === null ? null : new URL(address);
    this.#sweeping = setInterval(() => this.#removeUnused(), lifetimeMs / 6).unref();
  }

  /** Removes what killed consoles left, and listens if `console.previewUrl` is a single address. Throws `PortTaken`. */
  async start(): Promise<void> {
    await removeAbandoned();
    const { host } = this.#options;
    if (this.#pattern === null || this.#pattern.hostname.startsWith('*.')) return;
    const { host: own, port } = this.#pattern;
    const fetch = async (request: Request) => {
      const token = this.#single?.token ?? null;
      if (request.headers.get('host')?.toLowerCase() !== own) return plain(421, 'not the address of the preview');
      return this.#answer(request, token ?? '');
    };
    const server = createAdaptorServer({ fetch, overrideGlobalObjects: false, serverOptions: requestLimits }) as Server;
    keepConnections(server, connections);
    this.#single = { server, token: null };
    await listen(server, { host, port: Number(port), flag: 'console.previewUrl' });
  }

  async stop(): Promise<void> {
    clearInterval(this.#sweeping);
    if (this.#single !== null) await stopListening(this.#single.server, 0);
    this.#open.clear();
    await Promise.all([...this.#unpacked.keys()].map((key) => this.#remove(key)));
    if (this.#place !== null) await removePlace(this.#place);
  }

  /** Whether several versions can be open beside each other. */
  get hasNames(): boolean {
    return this.#single === null;
  }

  /**
   * The origin at which a person sees a version, for an hour and while the session lasts. Throws `ConsoleFailure` where
   * there is no address for previews, or the site is too large.
   */
  async show(domain: string, version: string, session: Session): Promise<string> {
    if (this.#pattern === null) {
      const hint = 'Set console.previewUrl in docferry.yaml, such as https://*.preview.example.';
      throw new ConsoleFailure('NoPreview', 'the console has no address for previews', hint);
    }
    const { files } = await provenManifest(await this.#options.bundles(), domain, version);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (bytes > largestSite) {
      const hint = '`docferry export save` writes the bundle to a file.';
      throw new ConsoleFailure('TooLarge', `${version} is too large for a preview: ${sizeText(bytes)}`, hint);
    }
    const token = this.#tokenOf(domain, version, session);
    if (this.#single !== null) this.#single.token = token;
    return this.#originOf(token);
  }

  /** The token in a host name; null if it is no preview's name, open or ended. */
  tokenIn(host: string | undefined): string | null {
    const end = this.#pattern !== null && this.hasNames ? this.#pattern.host.slice(1) : null;
    const asked = host?.toLowerCase() ?? '';
    const isPreview = end !== null && asked.endsWith(end) && !this.#options.known.hosts.has(asked);
    return isPreview ? asked.slice(0, -end.length) : null;
  }

  /** Answers a request for a preview's host name; null for other hosts. */
  async answer(request: Request): Promise<Response | null> {
    const token = this.tokenIn(request.headers.get('host') ?? undefined);
    return token === null ? null : this.#answer(request, token);
  }

  #originOf(token: string): string {
    const { protocol = '', host = '' } = this.#pattern ?? {};
    return `${protocol}//${host.replace('*', token)}`;
  }

  #tokenOf(domain: string, version: string, session: Session): string {
    const now = Date.now();
    for (const [token, { until }] of this.#open) if (until < now) this.#open.delete(token);
    for (const [token, open] of this.#open) {
      const isSame = open.domain === domain && open.version === version && open.session === session;
      if (isSame && open.until - now > lifetimeMs / 2) return token;
    }
    const [oldest] = this.#open.keys();
    if (this.#open.size >= mostPreviews && oldest !== undefined) this.#open.delete(oldest);
    // Lower case, because it becomes a host name.
    const token = randomBytes(16).toString('hex');
    this.#open.set(token, { domain, version, session, until: now + lifetimeMs });
    return token;
  }

  async #answer(request: Request, token: string): Promise<Response> {
    const preview = this.#open.get(token);
    if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'a preview answers GET and HEAD');
    if (request.headers.has('service-worker')) return plain(403, 'a preview has no service workers');
    if (preview === undefined || preview.until < Date.now() || preview.session.ended.aborted) {
      return plain(410, 'This preview has ended. Open it again in the console.');
    }
    try {
      return await this.#fileOf(request, preview, this.#originOf(token));
    } catch (error) {
      const isGone = error instanceof NoSuchVersion;
      if (isGone) await this.#remove(keyOf(preview));
      if (isGone) return plain(410, 'This version is gone: it was rejected, or retention has removed it.');
      const isDamaged = error instanceof VersionDamaged || (error instanceof Error && error.name === 'UnpackMismatch');
      if (isDamaged) return plain(500, 'This version is damaged: it is not what docferry verified.');
      return plain(503, 'The files of this version cannot be read now.');
    }
  }

  async #fileOf(request: Request, { domain, version }: Preview, origin: string): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { files } = await this.#siteOf(domain, version);
    const { status, file, type } = files.answer(pathname);
    // Throws `NoSuchVersion` once the version was rejected or removed.
    if (type.startsWith('text/html')) await (await this.#options.bundles()).manifest(domain, version);
    const headers = new Headers({ ...this.#headers(request, origin), 'Content-Type': type });
    if (file === null) return new Response('There is no such page.', { status, headers });
    // An index page's relative links start from its folder, so its address must end with a slash.
    const isFolder = status === 200 && /\/index\.html?$/.test(file) && !/(?:\/|\.html?)$/.test(pathname);
    if (isFolder) {
      headers.set('Location', `${pathname.replace(/^\/+/, '/')}/${search}`);
      return new Response(null, { status: 302, headers });
    }
    headers.set('Content-Length', String((await stat(file)).size));
    if (request.method === 'HEAD') return new Response(null, { status, headers });
    return new Response(Readable.toWeb(createReadStream(file)) as ReadableStream, { status, headers });
  }

  /** Pages have no origin: what they load needs `Access-Control-Allow-Origin`, and `'self'` would match nothing. */
  #headers(request: Request, origin: string): Record<string, string> {
    const policy = [
      'sandbox allow-scripts',
      `default-src ${origin} 'unsafe-inline' 'unsafe-eval' data: blob:`,
      `base-uri ${origin}`,
      "form-action 'none'",
      `frame-ancestors ${[...this.#options.known.origins].join(' ')}`,
    ];
    return {
      ...preventing,
      'Content-Security-Policy': policy.join('; '),
      ...(request.headers.get('origin') === 'null' && { 'Access-Control-Allow-Origin': 'null' }),
    };
  }

  async #siteOf(domain: string, version: string): Promise<Awaited<Unpacked['site']>> {
    const key = keyOf({ domain, version });
    const unpack = () => this.#slot.use(undefined, () => this.#unpack(domain, version));
    const known = this.#unpacked.get(key) ?? { site: unpack(), isReady: false, usedAt: 0 };
    known.usedAt = Date.now();
    // Moves it to the end: the map is in order of use.
    this.#unpacked.delete(key);
    this.#unpacked.set(key, known);
    this.#removeUnused();
    try {
      const site = await known.site;
      // Others may have been unpacked first, for minutes.
      if (!known.isReady) known.usedAt = Date.now();
      known.isReady = true;
      return site;
    } catch (error) {
      if (this.#unpacked.get(key) === known) this.#unpacked.delete(key);
      throw error;
    }
  }

  async #unpack(domain: string, version: string) {
    // Loaded late: no other page needs the archive readers.
    const { unpack } = await import('../exports/archive/unpack.ts');
    const store = await this.#options.bundles();
    const manifest = await provenManifest(store, domain, version);
    this.#place ??= takePlace();
    const folder = await mkdtemp(join(this.#place.folder, 'version-'));
    const signal = AbortSignal.timeout(unpackWithinMs);
    try {
      await store.withArchive(domain, version, (archive) => unpack(archive, manifest, folder, { signal }), { signal });
    } catch (error) {
      await removeFolder(folder);
      throw error;
    }
    const paths = manifest.files.map(({ path }) => path);
    return { folder, files: new SiteFiles(folder, paths) };
  }

  #removeUnused(): void {
    const { size } = this.#unpacked;
    for (const [place, [key, { isReady, usedAt }]] of [...this.#unpacked].entries()) {
      const unusedMs = Date.now() - usedAt;
      const most = isReady && unusedMs > inUseMs ? mostUnpacked : mostInUse;
      if (place < size - most || unusedMs > lifetimeMs) void this.#remove(key);
    }
  }

  async #remove(key: string): Promise<void> {
    const known = this.#unpacked.get(key);
    this.#unpacked.delete(key);
    const site = await known?.site.catch(() => undefined);
    if (site !== undefined) await removeFolder(site.folder);
  }
}

/** Headers of every answer of a preview. */
const preventing = {
  'X-Content-Type-Options': 'nosniff',
  // The address is the key to the preview.
  'Referrer-Policy': 'no-referrer',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex, nofollow',
};

function plain(status: number, text: string): Response {
  const policy = "default-src 'none'; sandbox";
  const headers = { ...preventing, 'Content-Security-Policy': policy, 'Content-Type': 'text/plain; charset=utf-8' };
  return new Response(`${text}\n`, { status, headers });
}

const keyOf = ({ domain, version }: { domain: string; version: string }): string => JSON.stringify([domain, version]);

const placeName = /^docferry-preview-[0-9a-f]{16}$/;

/**
 * A folder for this console's versions. The lock beside it is held as long as the process lives, and taken first: a folder
 * whose lock is free belongs to nobody.
 */
function takePlace(): { folder: string; lock: FileLock } {
  const folder = join(tmpdir(), `docferry-preview-${randomBytes(8).toString('hex')}`);
  const lock = tryLock(`${folder}.lock`);
  if (lock === undefined) throw new Error(`another process has locked ${folder}`);
  mkdirSync(folder, { mode: 0o700 });
  return { folder, lock };
}

async function removePlace({ folder, lock }: { folder: string; lock: FileLock }): Promise<void> {
  await rm(`${folder}.lock`, { force: true });
  await removeFolder(folder);
  lock.release();
}

/** Removes the folders of consoles that were killed. What another user left, or cannot be removed now, stays. */
async function removeAbandoned(): Promise<void> {
  const found = await readdir(tmpdir(), { withFileTypes: true });
  const folders = found.filter((entry) => entry.isDirectory() && placeName.test(entry.name));
  const removing = folders.map(async ({ name }) => {
    const folder = join(tmpdir(), name);
    if ((await stat(folder)).uid !== process.getuid?.()) return;
    const lock = tryLock(`${folder}.lock`);
    if (lock !== undefined) await removePlace({ folder, lock });
  });
  await Promise.allSettled(removing);
}

const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
