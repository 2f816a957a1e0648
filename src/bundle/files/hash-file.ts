import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/**
 * Feeds the first `length` bytes of a file (all by default) to a SHA-256 and returns it, still open.
 * Throws system errors, or the signal's reason.
 */
export async function hashPrefix(file: string, length = Number.POSITIVE_INFINITY, signal?: AbortSignal): Promise<Hash> {
  const hash = createHash('sha256');
  if (length === 0) return hash;
  const stream = createReadStream(file, { end: length - 1, highWaterMark: 1024 ** 2 });
  for await (const chunk of stream) {
    signal?.throwIfAborted();
    hash.update(chunk);
  }
  return hash;
}

/** Lowercase hex SHA-256 of a file. */
export async function hashFile(file: string, signal?: AbortSignal): Promise<string> {
  return (await hashPrefix(file, Number.POSITIVE_INFINITY, signal)).digest('hex');
}
