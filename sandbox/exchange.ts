import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogEntry } from './request-log.ts';

/** One request, the answer to it, and its line in the log. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  url: URL;
  log: LogEntry;
}

/** Sends a whole answer. */
export function send(exchange: Exchange, status: number, contentType: string, body: string | Buffer): void {
  const bytes = Buffer.from(body);
  exchange.log.status = status;
  exchange.log.bytes = bytes.length;
  exchange.res.writeHead(status, { 'Content-Type': contentType, 'Content-Length': bytes.length });
  exchange.res.end(exchange.req.method === 'HEAD' ? undefined : bytes);
}

export function sendJson(exchange: Exchange, status: number, body: unknown): void {
  send(exchange, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

/** The error answer of both areas: `{ error, details?: [{ message }] }`. */
export function sendError(exchange: Exchange, status: number, error: string, details: readonly string[] = []): void {
  const listed = details.length === 0 ? {} : { details: details.map((message) => ({ message })) };
  sendJson(exchange, status, { error, ...listed });
}

/** What a gateway in front of the service sends. */
export function sendGatewayError(exchange: Exchange, status: number, title: string): void {
  const page = `<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body><center><h1>${status} ${title}</h1></center></body>\r\n</html>\r\n`;
  send(exchange, status, 'text/html', page);
}

/** Resets the connection (RST) instead of answering. */
export function reset(exchange: Exchange, fault: string): void {
  exchange.log.fault = fault;
  exchange.req.socket.resetAndDestroy();
}

/** Announces the whole body, sends half of it, and closes the connection. */
export function sendHalf(exchange: Exchange, body: string): void {
  const bytes = Buffer.from(body);
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  exchange.log.status = 200;
  exchange.log.bytes = half.length;
  exchange.res.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
  });
  exchange.res.write(half, () => exchange.req.socket.destroySoon());
}

/** Sends a JSON text in ten pieces spread over `overMs`. */
export async function sendSlowly(exchange: Exchange, body: string, overMs: number, stop: AbortSignal): Promise<void> {
  const pieces = 10;
  const bytes = Buffer.from(body);
  exchange.log.status = 200;
  exchange.res.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
  });
  const size = Math.ceil(bytes.length / pieces);
  for (let start = 0; start < bytes.length && !exchange.res.destroyed; start += size) {
    await sleep(overMs / pieces, undefined, { signal: stop });
    const piece = bytes.subarray(start, start + size);
    exchange.res.write(piece);
    exchange.log.bytes += piece.length;
  }
  exchange.res.end();
}

/** Reads a request body of at most `limit` bytes; null when it is longer. */
export async function readBody(req: IncomingMessage, limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req) {
    length += chunk.length;
    // What is too much is still received, or the answer would be a reset.
    if (length <= limit) chunks.push(chunk);
  }
  return length > limit ? null : Buffer.concat(chunks);
}

/** The path split at its slashes and decoded; null when it cannot be decoded. */
export function pathSegments(url: URL): string[] | null {
  try {
    return url.pathname.split('/').slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}
