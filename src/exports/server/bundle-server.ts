import { createHash, timingSafeEqual } from 'node:crypto';
import { open } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { clientOf, listen, type RunningServer, requestLimits, Slots, stopListening } from '../../http-server.ts';
import { withoutEnd } from '../../rules/text.ts';
import { type BundleStore, type ByteRange, isStoreName, StoreUnreachable } from '../store/bundle-store.ts';
import { PublishedFiles } from './published-files.ts';

/** The reader has gone, or takes too long: nothing is wrong with the object. */
class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

interface ImmutableObject {
  /** Without quotes. */
  etag: string;
  bytes: number;
  type: string;
  /** `private` keeps it out of shared caches, which would give it to readers without the token. */
  scope: 'public' | 'private';
  /** Null when it has been removed meanwhile. */
  open(range: ByteRange | undefined): Promise<Readable | null>;
}

const pieceBytes = 64 * 1024;

/**
 * Answers GET and HEAD for an object by RFC 9110: conditions, and one range of a GET (several get the whole object). A
 * reader that takes less than 64 KiB in `idleMs` is cut off. Resolves to false when the object is gone and nothing was
 * sent; rejects with `ReaderGone` or the store's error when the transfer breaks off.
 */
async function sendObject(
  { headers, method }: IncomingMessage,
  response: ServerResponse,
  { etag, bytes, type, scope, open }: ImmutableObject,
  idleMs: number,
): Promise<boolean> {
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('Cache-Control', `${scope}, max-age=31536000, immutable`);
  response.setHeader('ETag', `"${etag}"`);
  const { 'if-match': match, 'if-none-match': noneMatch, 'if-range': ifRange } = headers;
  if (match !== undefined && !namesIn(match).some((name) => name === '*' || name === `"${etag}"`)) {
    return endIfThere(response, 412, open);
  }
  // Weak ETags count here: the content never changes.
  if (noneMatch?.trim() === '*' || namesIn(noneMatch).some((name) => name.replace(/^W\//, '') === `"${etag}"`)) {
    return endIfThere(response, 304, open);
  }
  const ranged = method === 'GET' && (ifRange === undefined || `${ifRange}`.trim() === `"${etag}"`);
  const range = ranged ? rangeOf(headers.range, bytes) : undefined;
  if (range === null) {
    response.setHeader('Content-Range', `bytes */${bytes}`);
    return endIfThere(response, 416, open);
  }
  const body = method === 'HEAD' ? undefined : await open(range);
  if (body === null || (body === undefined && !(await isThere(open)))) return false;
  const length = range === undefined ? bytes : range.end - range.start + 1;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', length);
  if (range !== undefined) response.setHeader('Content-Range', `bytes ${range.start}-${range.end}/${bytes}`);
  response.statusCode = range === undefined ? 200 : 206;
  if (body === undefined) response.end();
  else await sendBody(body, response, length, idleMs);
  return true;
}

/** Sends exactly `length` bytes; an answer that cannot be completed is broken off, never ended short. */
async function sendBody(body: Readable, response: ServerResponse, length: number, idleMs: number): Promise<void> {
  const stop = () => void body.destroy();
  response.once('close', stop);
  let left = length;
  try {
    for await (const chunk of body) {
      if (!Buffer.isBuffer(chunk)) throw new TypeError('a body must consist of bytes');
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        const piece = chunk.subarray(at, at + pieceBytes);
        left -= piece.length;
        if (left < 0) throw new Error('there are more bytes than the manifest says');
        if (response.destroyed) throw new ReaderGone('the reader has disconnected');
        if (!response.write(piece)) await untilTaken(response, 'drain', idleMs);
      }
    }
    if (left > 0) throw new Error('there are fewer bytes than the manifest says');
    response.end();
    await untilTaken(response, 'finish', idleMs);
  } catch (error) {
    // Then the body was destroyed, and its error does not matter.
    throw response.destroyed ? new ReaderGone('the reader has disconnected') : error;
  } finally {
    response.off('close', stop);
    body.destroy();
  }
}

/** Resolves when the reader has received all that was written; rejects when it disconnects or takes too long. */
function untilTaken(response: ServerResponse, event: 'drain' | 'finish', idleMs: number): Promise<void> {
  if (event === 'finish' && response.writableFinished) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = (how: () => void) => {
      clearTimeout(timer);
      response.off(event, taken).off('close', gone);
      how();
    };
    const taken = () => settle(resolve);
    const gone = () => settle(() => reject(new ReaderGone('the reader has disconnected')));
    const timer = setTimeout(() => settle(() => reject(new ReaderGone('the reader takes no bytes'))), idleMs);
    response.once(event, taken).once('close', gone);
  });
}

/** The ETags of a list; those of published files contain no comma. */
function namesIn(list = ''): string[] {
  return list.split(',').map((name) => name.trim());
}

/** The requested range: undefined for the whole object, null when it is out of bounds. */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | undefined | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? null : { start: bytes - length, end: bytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  // RFC 9110: a range whose end is before its start is ignored.
  if (last !== '' && Number(last) < start) return undefined;
  return start < bytes ? { start, end } : null;
}

async function endIfThere(response: ServerResponse, status: number, open: ImmutableObject['open']): Promise<boolean> {
  if (!(await isThere(open))) return false;
  if (status >= 400) response.setHeader('Cache-Control', 'no-store');
  response.writeHead(status).end();
  return true;
}

/** For answers without a body, which would otherwise report a removed object as unchanged. */
async function isThere(open: ImmutableObject['open']): Promise<boolean> {
  const body = await open({ start: 0, end: 0 });
  body?.destroy();
  return body !== null;
}

/** What is served: the folder of a directory store, or a store read through its client. */
type ServedStore = { root: string; store?: never } | { store: Pick<BundleStore, 'open'>; root?: never };

type BundleServerOptions = ServedStore & ServerSettings;

export interface ServerSettings {
  /** Address to listen on; 127.0.0.1 by default. */
  host?: string;
  /** 0 picks a free one. */
  port: number;
  /** Where published addresses begin: a path in it may precede those of requests, or a proxy may have taken it away. */
  publicUrl?: string;
  /** When given, required as `Authorization: Bearer <token>` for everything but `/healthz`. */
  token?: string;
  /** Most requests answered at once; 256 by default. */
  readers?: number;
  /** Most of them for one client address; 64 by default. */
  readersPerAddress?: number;
  /** A reader that takes less than 64 KiB in this time is cut off; 30 s by default. */
  idleMs?: number;
  /** Called when the store, not the reader, is why a request fails. */
  onFailure?: (error: unknown) => void;
}

const stopGraceMs = 2_000;
/** Longer than any path of a published file. */
const longestPath = 1_024;
/** Connections allowed for each request answered at once: clients keep idle ones. */
const connectionsPerReader = 4;
const retryAfterS = 5;
const publishedPath =
  /^\/([^/?]+)\/versions\/([^/?]+)\/(bundle\.tar\.gz|bundle\.tar|bundle\.zip|manifest\.json|manifest\.json\.minisig)(?:\?.*)?$/;

/**
 * Serves published versions and nothing else of a store (contracts.md "bundle server"): immutable, with a strong `ETag`
 * (of a bundle the SHA-256 of the archive) and `Range`; `/healthz` answers 200. Requests beyond the limits get 503 with
 * `Retry-After`. Throws `PortTaken`.
 */
export async function startBundleServer(options: BundleServerOptions): Promise<RunningServer> {
  const { host = '127.0.0.1', readers = 256, readersPerAddress = 64 } = options;
  const slots = new Slots({ total: readers, perClient: readersPerAddress });
  const server = createServer({ ...requestLimits, maxHeaderSize: 8 * 1024 }, requestHandler(options, slots));
  limitConnections(server, {
    total: readers * connectionsPerReader,
    perClient: readersPerAddress * connectionsPerReader,
  });
  const { port, url } = await listen(server, { host, port: options.port, flag: '--bundle-port' });
  return { url, port, stop: () => stopListening(server, stopGraceMs) };
}

function requestHandler(options: BundleServerOptions, slots: Slots): RequestListener {
  const { publicUrl = 'http://localhost', token: ownToken, idleMs = 30_000, onFailure } = options;
  const store = options.store ?? folderReader(options.root);
  const files = new PublishedFiles(store);
  const prefix = withoutEnd(new URL(publicUrl).pathname, '/');
  const scope = ownToken === undefined ? 'public' : 'private';

  /** Why a request is refused, whichever file it names. */
  const refusalOf = (request: IncomingMessage): [status: number, headers?: Record<string, string>] | null => {
    const { method = '', url = '', headers } = request;
    if (!['GET', 'HEAD'].includes(method)) return [405, { Allow: 'GET, HEAD' }];
    if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0) {
      return [400, { Connection: 'close' }];
    }
    if (url.length > longestPath) return [414];
    const token = url === '/healthz' ? undefined : ownToken;
    return token === undefined || isAuthorized(request, token) ? null : [401, { 'WWW-Authenticate': 'Bearer' }];
  };

  const send = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '' } = request;
    const path = url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : url;
    const [, domain = '', version = '', file = ''] = publishedPath.exec(path) ?? [];
    // Names are compared as sent: no published path needs percent-encoding.
    if (!isStoreName(domain) || !isStoreName(version)) return refuse(response, 404);
    const published = await files.of(domain, version, file);
    if (published === null) return refuse(response, 404);
    const read = (range: ByteRange | undefined) => store.open(domain, version, file, range);
    if (await sendObject(request, response, { ...published, scope, open: read }, idleMs)) return;
    files.forget(domain, version);
    refuse(response, 404);
  };

  return (request, response) => {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    const refusal = refusalOf(request);
    if (refusal !== null) return refuse(response, ...refusal);
    if (request.url === '/healthz') {
      response.writeHead(200, { 'Content-Type': 'text/plain' }).end('ok\n');
      return;
    }
    const release = slots.take(clientOf(request.socket.remoteAddress));
    if (release === null) return refuse(response, 503, { 'Retry-After': `${retryAfterS}` });
    response.once('close', release);
    send(request, response).catch((error: unknown) => {
      refuse(response, error instanceof StoreUnreachable ? 503 : 500);
      if (!(error instanceof ReaderGone)) onFailure?.(error);
    });
  };
}

function isAuthorized(request: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(request.headers.authorization ?? ''), digest(`Bearer ${token}`));
}

function refuse(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name of response.getHeaderNames()) if (name !== 'x-content-type-options') response.removeHeader(name);
  // A cache would go on refusing a version that has been published meanwhile.
  const own = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' };
  response.writeHead(status, { ...own, ...headers }).end(`${status}\n`);
}

/** Reads a store's folder without its lock and identity, so that another machine's can be mounted read-only. */
function folderReader(root: string): Pick<BundleStore, 'open'> {
  return {
    async open(domain, version, file, range) {
      const path = join(root, domain, 'versions', version, file);
      const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
        if (noFile.includes(error.code ?? '')) return null;
        throw error;
      });
      return handle?.createReadStream({ ...range }) ?? null;
    },
  };
}

const noFile = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

/** Closes connections beyond the limits at once; each would cost memory before its first request. */
function limitConnections(server: Server, limits: ConstructorParameters<typeof Slots>[0]): void {
  const connections = new Slots(limits);
  server.on('connection', (socket) => {
    const release = connections.take(clientOf(socket.remoteAddress));
    if (release === null) socket.destroy();
    else socket.once('close', release);
  });
}
