import type { TransformOptions } from 'node:stream';
import { createInflateRaw, type InflateRaw, type ZlibOptions } from 'node:zlib';
import type { ByteSpan } from '../../files.ts';
import { ArchiveFault, type ByteFile } from './archive-reader.ts';

/** Bytes per read; the window grows only when a caller needs more in one piece. */
const windowSize = 1024 ** 2;

/**
 * Reads a file front to back through a window of bounded size. Two buffers alternate, so that one can be filled while the
 * caller still uses the other: returned bytes stay valid until the second `fill` that follows.
 */
export class ByteWindow {
  readonly #file: ByteFile;
  readonly #onRaw: ((bytes: Uint8Array) => void) | undefined;
  readonly #range: ByteSpan;
  #buffer: Buffer;
  #other: Buffer | null = null;
  /** Bytes of the buffer already returned. */
  #start = 0;
  #filled = 0;
  /** File offset just past the end of the buffer. */
  #next: number;
  /** File offset up to which `onRaw` has been called. */
  #reported: number;

  constructor(file: ByteFile, range: ByteSpan, onRaw?: (bytes: Uint8Array) => void, windowBytes = windowSize) {
    this.#file = file;
    this.#onRaw = onRaw;
    this.#range = range;
    this.#next = range.start;
    this.#reported = range.start;
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(windowBytes, range.end - range.start)));
  }

  /** File offset of the next byte to be returned. */
  get position(): number {
    return this.#next - this.buffered;
  }

  /** Bytes that can be taken without waiting. */
  get buffered(): number {
    return this.#filled - this.#start;
  }

  /** Waits until `bytes` can be taken in one piece; false if the file ends first. Throws system errors. */
  async fill(bytes: number): Promise<boolean> {
    if (this.buffered >= bytes) return true;
    if (this.position + bytes > this.#range.end) return false;
    this.#makeRoom(bytes);
    while (this.#filled < this.#buffer.length && this.#next < this.#range.end) {
      const most = Math.min(this.#buffer.length - this.#filled, this.#range.end - this.#next);
      const room = this.#buffer.subarray(this.#filled, this.#filled + most);
      const read = await this.#file.read(room, this.#next);
      if (read === 0) throw new ArchiveFault('truncated', 'the file became shorter while it was read');
      this.#filled += read;
      this.#next += read;
      this.#report(room.subarray(0, read));
    }
    return true;
  }

  /** The next bytes, which must already be buffered. */
  take(bytes: number): Buffer {
    if (bytes > this.buffered) throw new RangeError('taken without filling the window');
    const taken = this.#buffer.subarray(this.#start, this.#start + bytes);
    this.#start += bytes;
    return taken;
  }

  /** Returns the last bytes taken to the window; bytes no longer buffered are read again. */
  untake(bytes: number): void {
    if (bytes > this.position - this.#range.start) throw new RangeError('gave back more than was taken');
    if (bytes <= this.#start) {
      this.#start -= bytes;
      return;
    }
    this.#next = this.position - bytes;
    this.#start = 0;
    this.#filled = 0;
  }

  /** The next piece of at most `most` bytes, as many as are buffered; null at the end. Throws system errors. */
  async piece(most: number): Promise<Buffer | null> {
    if (this.buffered === 0 && !(await this.fill(1))) return null;
    return this.take(Math.min(most, this.buffered));
  }

  /** Reports each byte once, even if it is read again. */
  #report(read: Buffer): void {
    const unknown = this.#next - this.#reported;
    if (unknown <= 0) return;
    this.#reported = this.#next;
    this.#onRaw?.(read.subarray(read.length - unknown));
  }

  #makeRoom(bytes: number): void {
    const rest = this.#buffer.subarray(this.#start, this.#filled);
    const size = Math.max(bytes, this.#buffer.length);
    const free = this.#other !== null && this.#other.length >= size ? this.#other : Buffer.allocUnsafeSlow(size);
    rest.copy(free);
    this.#other = this.#buffer;
    this.#buffer = free;
    this.#filled = rest.length;
    this.#start = 0;
  }
}

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
  if (code === 'Z_BUF_ERROR') return new ArchiveFault('truncated', 'the compressed data ends in the middle', path);
  if (code === 'Z_DATA_ERROR' || code === 'Z_NEED_DICT') {
    return new ArchiveFault('corrupt', 'the compressed data is damaged', path);
  }
  return error;
}
