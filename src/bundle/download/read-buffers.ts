import type { OnReadOpts } from 'node:net';

const widestBytes = 1024 ** 2;
const narrowestBytes = 64 * 1024;
/** All connections of a download together. */
const allBytes = 2 * 1024 ** 2;

/**
 * Buffers into which connections read, a megabyte at a time where there is as much: a socket's own 64 KiB for each read
 * cost more than hashing the bytes (docs/decisions/0071). A buffer is used again once `give` has brought it back.
 */
export class ReadBuffers {
  /** Size of a buffer. */
  readonly bytes: number;
  readonly #free: Buffer[] = [];
  /** How far each buffer that is lent was filled. */
  readonly #lent = new WeakMap<ArrayBufferLike, number>();

  constructor(connections: number) {
    this.bytes = Math.max(narrowestBytes, Math.min(widestBytes, Math.floor(allBytes / connections)));
  }

  /** How a socket reads; `push` takes what it read and says whether there is room for more. */
  options(push: (chunk: Buffer) => boolean): OnReadOpts {
    let buffer = this.#take();
    return {
      buffer: () => buffer,
      callback: (length) => {
        const chunk = buffer.subarray(0, length);
        // Little would hold a lot of memory while it waits.
        if (length < this.bytes / 4) return push(Buffer.from(chunk));
        this.#lent.set(buffer.buffer, length);
        buffer = this.#take();
        return push(chunk);
      },
    };
  }

  /** Takes back a chunk nobody looks at any more. One that is part of a read, or of another origin, is left alone. */
  give(chunk: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = chunk;
    if (byteOffset !== 0 || this.#lent.get(buffer) !== byteLength) return;
    this.#lent.delete(buffer);
    this.#free.push(Buffer.from(buffer));
  }

  #take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }
}
