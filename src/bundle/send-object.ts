import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ByteRange } from './bundle-store.ts';

/** Something that never changes and is read in ranges. */
export interface ImmutableObject {
  /** Without quotes. */
  etag: string;
  bytes: number;
  type: string;
  /** Null when it is gone after all. */
  open(range: ByteRange | undefined): Promise<Readable | null>;
}

/**
 * Answers GET and HEAD for an object as RFC 9110 says: conditions, one range (more are answered with the whole).
 * Resolves to false when it is gone and nothing was sent; rejects when the transfer breaks off.
 */
export async function sendObject(
  request: IncomingMessage,
  response: ServerResponse,
  { etag, bytes, type, open }: ImmutableObject,
): Promise<boolean> {
  const { headers, method } = request;
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
  response.setHeader('ETag', `"${etag}"`);
  if (headers['if-match'] !== undefined && !names(headers['if-match'], etag)) return end(response, 412);
  if (headers['if-none-match'] !== undefined && names(headers['if-none-match'], etag)) return end(response, 304);
  const conditional = headers['if-range'] === undefined || headers['if-range'] === `"${etag}"`;
  const range = conditional ? rangeOf(headers.range, bytes) : undefined;
  if (range === null) {
    response.setHeader('Content-Range', `bytes */${bytes}`);
    return end(response, 416);
  }
  const body = method === 'HEAD' ? undefined : await open(range);
  if (body === null) return false;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', range === undefined ? bytes : range.end - range.start + 1);
  if (range !== undefined) response.setHeader('Content-Range', `bytes ${range.start}-${range.end}/${bytes}`);
  response.statusCode = range === undefined ? 200 : 206;
  if (body === undefined) response.end();
  else await pipeline(body, response);
  return true;
}

/** Whether a list of ETags names this one; weak ones count, as the content never changes. */
function names(list: string, etag: string): boolean {
  return list.split(',').some((entry) => ['*', etag].includes(entry.trim().replace(/^(W\/)?"(.*)"$/, '$2')));
}

/** The one range that is asked for: undefined for the whole, null when it lies outside. */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | undefined | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? null : { start: bytes - length, end: bytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  // The wrong way round is no range at all.
  if (last !== '' && Number(last) < start) return undefined;
  return start < bytes ? { start, end } : null;
}

function end(response: ServerResponse, status: number): true {
  response.writeHead(status).end();
  return true;
}
