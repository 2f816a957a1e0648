import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { LinkSource } from '../../../src/exports/fetch/presigned-links.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server for one test: each request goes to the next handler, and all further ones to the last. */
export async function serve(...handlers: Handler[]) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    const handler = handlers[Math.min(requests.length, handlers.length - 1)];
    requests.push(request);
    handler?.(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const { port } = server.address() as AddressInfo;
  const link = `http://127.0.0.1:${port}/bundle?signature=SECRET`;
  return { port, link, links: linksTo(link), requests };
}

/** A service that gives the same link each time and nothing else. */
export function linksTo(href: string): LinkSource {
  return async () => ({ href, sizeBytes: null, expiresAtMs: null, serviceNowMs: null });
}

export interface StoredObject {
  bytes: Buffer;
  etag: string;
}

export function randomObject(length: number): StoredObject {
  const bytes = randomBytes(length);
  return { bytes, etag: `"${sha256(bytes).slice(0, 16)}"` };
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Answers as an object store does: Range, If-Match, ETag. The bytes of a range follow its headers once `ready`. */
export function store({ bytes, etag }: StoredObject, ready?: Promise<void>): Handler {
  return async (request, response) => {
    const part = partOf(request, bytes.length);
    const wanted = request.headers['if-match'];
    if (wanted !== undefined && wanted !== etag) return void response.writeHead(412).end();
    if (part === null) return void response.writeHead(200, { etag, 'content-length': bytes.length }).end(bytes);
    const { start, end } = part;
    if (start >= bytes.length)
      return void response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    const range = `bytes ${start}-${end - 1}/${bytes.length}`;
    const headers = { etag, 'content-range': range, 'content-length': end - start };
    response.writeHead(206, headers);
    if (ready) {
      response.flushHeaders();
      await ready;
    }
    response.end(bytes.subarray(start, end));
  };
}

/**
 * As `store`, but the connection is cut once `sent` bytes of body are on the client's disk: a cut before the client has
 * read them would lose some.
 */
export function cutAfter(sent: number, { bytes, etag }: StoredObject, onDisk: () => number): Handler {
  return (request, response) => {
    const part = partOf(request, bytes.length);
    const { start, end } = part ?? { start: 0, end: bytes.length };
    const headers = { etag, 'content-length': end - start };
    const range = { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` };
    if (part === null) response.writeHead(200, headers);
    else response.writeHead(206, { ...headers, ...range });
    response.write(bytes.subarray(start, start + sent));
    const cut = setInterval(() => {
      if (onDisk() < start + sent) return;
      clearInterval(cut);
      response.destroy();
    }, 5);
    response.once('close', () => clearInterval(cut));
  };
}

export function answer(status: number, headers: Record<string, string> = {}, body = ''): Handler {
  return (_request, response) => void response.writeHead(status, headers).end(body);
}

/** The requested range; null for the whole object. */
export function partOf(request: IncomingMessage, length: number): { start: number; end: number } | null {
  const [, start, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  if (start === undefined) return null;
  return { start: Number(start), end: last ? Math.min(Number(last) + 1, length) : length };
}
