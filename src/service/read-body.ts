import type { Readable } from 'node:stream';

/** The body is longer than allowed. */
export class BodyTooLong extends Error {
  override readonly name = 'BodyTooLong';
}

/**
 * Reads a body as UTF-8 without its byte order mark. Counts the bytes as they come (after decompression), whatever
 * `Content-Length` says; throws `BodyTooLong`, or the stream's error when it is cut short.
 */
export async function readBody(stream: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new BodyTooLong(`longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
