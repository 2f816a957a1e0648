import type { TransformOptions } from 'node:stream';
import { createInflateRaw, type InflateRaw, type ZlibOptions } from 'node:zlib';
import { ArchiveFault } from './archive-fault.ts';
import type { ByteWindow } from './byte-window.ts';

/** Piece size, and how far zlib's thread may run ahead of the consumer. */
const options: ZlibOptions & TransformOptions = { chunkSize: 1024 ** 2, readableHighWaterMark: 4 * 1024 ** 2 };
const feedBytes = 1024 ** 2;

/**
 * Inflates raw deflate data that begins at the window's position, reading at most `most` compressed bytes, in pieces.
 * Afterwards the window stands just past the last compressed byte. Throws `ArchiveFault` and system errors.
 */
export async function* inflateWindow(window: ByteWindow, most: number, path: string | null): AsyncGenerator<Buffer> {
  const begin = window.position;
  const inflate = createInflateRaw(options);
  // A failure destroys `inflate` with its error, which is thrown below.
  const feeding = feed(inflate, window, most).catch((error: Error) => void inflate.destroy(error));
  try {
    for await (const chunk of inflate) yield chunk;
  } catch (error) {
    throw inflateFault(error, path);
  } finally {
    inflate.destroy();
    await feeding;
  }
  window.untake(window.position - begin - inflate.bytesWritten);
}

/** Reads the next piece while zlib works on the previous one, which the window keeps intact meanwhile. */
async function feed(inflate: InflateRaw, window: ByteWindow, most: number): Promise<void> {
  const closed = new Promise<void>((resolve) => inflate.once('close', resolve));
  let atWork = Promise.resolve();
  for (let left = most; ; ) {
    const piece = left > 0 ? await window.piece(Math.min(left, feedBytes)) : null;
    if (inflate.destroyed) return;
    if (piece === null) {
      inflate.end();
      return;
    }
    left -= piece.length;
    const before = atWork;
    atWork = new Promise<void>((resolve) => inflate.write(piece, () => resolve()));
    await Promise.race([before, closed]);
  }
}

/** The fault that a zlib error stands for; other errors are returned unchanged. */
export function inflateFault(error: unknown, path: string | null): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'Z_BUF_ERROR') return new ArchiveFault('truncated', path, 'the compressed data ends in the middle');
  if (code === 'Z_DATA_ERROR' || code === 'Z_NEED_DICT') {
    return new ArchiveFault('corrupt', path, 'the compressed data is damaged');
  }
  return error;
}
