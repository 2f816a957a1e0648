import { createHash, timingSafeEqual } from 'node:crypto';
import { open } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import send from 'send';
import type { BundleStore, ByteRange } from './bundle-store.ts';
import { PublishedFiles } from './published-files.ts';
import { sendObject } from './send-object.ts';
import { StoreUnreachable } from './store-errors.ts';
import { isStoreName } from './store-names.ts';

/** What is served: the folder of a directory store, or a store that is read through its client. */
export type ServedStore = { root: string; store?: never } | { store: Pick<BundleStore, 'open'>; root?: never };

export type BundleServerOptions = ServedStore & ServerSettings;

export interface ServerSettings {
  /** Address to listen on; 127.0.0.1 by default. */
  host?: string;
  /** 0 picks a free one. */
  port: number;
  /** When given, required as `Authorization: Bearer <token>` for everything but `/healthz`. */
  token?: string;
  /** Aborting it stops the server. */
  signal?: AbortSignal;
}

export interface BundleServer {
  url: string;
  port: number;
  /** Takes no more requests, gives those under way 2 s, and resolves when the port is free. */
  stop(): Promise<void>;
}

/** The port is used by another program. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
  readonly port: number;

  constructor(host: string, port: number) {
    super(`port ${port} on ${host} is taken: stop what listens there or choose another port`);
    this.port = port;
  }
}

const STOP_GRACE_MS = 2_000;
const ONE_YEAR_MS = 365 * 24 * 3_600_000;
const PUBLISHED = /^\/([^/?]+)\/versions\/([^/?]+)\/(bundle\.tar\.gz|bundle\.tar|bundle\.zip|manifest\.json)(?:\?.*)?$/;

/**
 * Serves published versions and nothing else of a store (DESIGN §5 "bundle server"): immutable, with a strong `ETag`
 * (of a bundle the SHA-256 of the archive) and `Range`; `/healthz` answers 200. Throws `PortTaken`.
 */
export async function startBundleServer(options: BundleServerOptions): Promise<BundleServer> {
  const { host = '127.0.0.1', signal } = options;
  signal?.throwIfAborted();
  const files = new PublishedFiles(opener(options));
  const server = createServer((request, response) => {
    answer(request, response, options, files).catch((error: unknown) => {
      refuse(response, error instanceof StoreUnreachable ? 503 : 500);
    });
  });
  const port = await listen(server, host, options.port);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= close(server);
    return stopping;
  };
  signal?.addEventListener('abort', () => void stop(), { once: true });
  return { url: `http://${isIPv6(host) ? `[${host}]` : host}:${port}`, port, stop };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: BundleServerOptions,
  files: PublishedFiles,
): Promise<void> {
  const { token } = options;
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405, { Allow: 'GET, HEAD' });
  if (request.url === '/healthz') return void response.writeHead(200, { 'Content-Type': 'text/plain' }).end('ok\n');
  if (token !== undefined && !isAuthorized(request, token)) {
    return refuse(response, 401, { 'WWW-Authenticate': 'Bearer' });
  }
  const [, domain = '', version = '', file = ''] = PUBLISHED.exec(request.url ?? '') ?? [];
  // Names are compared as sent: nothing in a published path needs percent-encoding.
  if (!isStoreName(domain) || !isStoreName(version)) return refuse(response, 404);
  const published = await files.of(domain, version, file);
  if (published === null) return refuse(response, 404);
  if (options.store !== undefined) {
    const { store } = options;
    const open = (range: ByteRange | undefined) => store.open(domain, version, file, range);
    if (!(await sendObject(request, response, { ...published, open }))) refuse(response, 404);
    return;
  }
  const { root } = options;
  response.setHeader('ETag', `"${published.etag}"`);
  send(request, `/${file}`, {
    root: join(root, domain, 'versions', version),
    index: false,
    maxAge: ONE_YEAR_MS,
    immutable: true,
  })
    .on('error', ({ status = 500, headers }: { status?: number; headers?: Record<string, string> }) =>
      refuse(response, status, headers),
    )
    .pipe(response);
}

function isAuthorized(request: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(request.headers.authorization ?? ''), digest(`Bearer ${token}`));
}

function refuse(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  if (response.headersSent) return void response.destroy();
  for (const name of ['ETag', 'Cache-Control', 'Last-Modified']) response.removeHeader(name);
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers }).end(`${status}\n`);
}

function opener(served: ServedStore) {
  return async (domain: string, version: string, file: string): Promise<Readable | null> => {
    if (served.store !== undefined) return served.store.open(domain, version, file);
    const handle = await open(join(served.root, domain, 'versions', version, file)).catch(() => null);
    return handle?.createReadStream() ?? null;
  };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortTaken(host, port) : error);
    });
    server.listen(port, host, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : port);
    });
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), STOP_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
