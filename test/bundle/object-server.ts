import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((stop) => stop()));
});

/** An HTTP server for one test: each request goes to the next handler, the last one takes all that follow. */
export async function serve(...handlers: Handler[]) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    const handler = handlers[Math.min(requests.length, handlers.length - 1)];
    requests.push(request);
    handler?.(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  running.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const { port } = server.address() as AddressInfo;
  return { port, link: `http://127.0.0.1:${port}/bundle?signature=SECRET`, requests };
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

/** Answers as an object store does: Range, If-Match, ETag. */
export function store({ bytes, etag }: StoredObject): Handler {
  return (request, response) => {
    const start = startOf(request);
    const wanted = request.headers['if-match'];
    if (wanted !== undefined && wanted !== etag) return void response.writeHead(412).end();
    if (start === null) return void response.writeHead(200, { etag, 'content-length': bytes.length }).end(bytes);
    if (start >= bytes.length)
      return void response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
    const headers = { etag, 'content-range': range, 'content-length': bytes.length - start };
    response.writeHead(206, headers).end(bytes.subarray(start));
  };
}

/** As `store`, but the connection is cut after `sent` bytes of body. */
export function cutAfter(sent: number, { bytes, etag }: StoredObject): Handler {
  return (request, response) => {
    const start = startOf(request);
    const headers = { etag, 'content-length': bytes.length - (start ?? 0) };
    const range = { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` };
    if (start === null) response.writeHead(200, headers);
    else response.writeHead(206, { ...headers, ...range });
    response.write(bytes.subarray(start ?? 0, (start ?? 0) + sent), () => {
      // What the other side has not taken out of its buffers by then is lost to it, and no cut at this place.
      setTimeout(() => response.destroy(), 250);
    });
  };
}

export function answer(status: number, headers: Record<string, string> = {}, body = ''): Handler {
  return (_request, response) => void response.writeHead(status, headers).end(body);
}

function startOf(request: IncomingMessage): number | null {
  const match = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  return match ? Number(match[1]) : null;
}
