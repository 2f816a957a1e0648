import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { ByteRange } from '../store/bundle-store.ts';

/** The reader has gone, or takes too long: nothing is wrong with the object. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

/** An object that never changes and can be read in ranges. */
export interface ImmutableObject {
  /** Without quotes. */
  etag: string;
  bytes: number;
  type: string;
  /** Null when it has been removed meanwhile. */
  open(range: ByteRange | undefined): Promise<Readable | null>;
}

const pieceBytes = 64 * 1024;

/**
 * Answers GET and HEAD for an object by RFC 9110: conditions, and one range of a GET (several get the whole object). A
 * reader that takes less than 64 KiB in `idleMs` is cut off. Resolves to false when the object is gone and nothing was
 * sent; rejects with `ReaderGone` or the store's error when the transfer breaks off.
 */
export async function sendObject(
  { headers, method }: IncomingMessage,
  response: ServerResponse,
  { etag, bytes, type, open }: ImmutableObject,
  idleMs: number,
): Promise<boolean> {
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
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
    // Then the body was destroyed, whatever came of that.
    throw response.destroyed ? new ReaderGone('the reader has disconnected') : error;
  } finally {
    response.off('close', stop);
    body.destroy();
  }
}

/** Resolves when the reader has taken what was written; rejects when it disconnects or takes too long. */
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

/** False, and nothing sent, when the object is gone. */
async function endIfThere(response: ServerResponse, status: number, open: ImmutableObject['open']): Promise<boolean> {
  if (!(await isThere(open))) return false;
  response.writeHead(status).end();
  return true;
}

/** For answers without a body, which would otherwise report a removed object as unchanged. */
async function isThere(open: ImmutableObject['open']): Promise<boolean> {
  const body = await open({ start: 0, end: 0 });
  body?.destroy();
  return body !== null;
}
