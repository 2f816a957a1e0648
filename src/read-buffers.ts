import type { OnReadOpts } from 'node:net';

const widestBytes = 1024 ** 2;
const narrowestBytes = 64 * 1024;
/** For all connections of a download together. */
const allBytes = 2 * 1024 ** 2;

/**
 * Buffers into which connections read, up to a megabyte at a time: a socket's usual 64 KiB for each read cost more than
 * hashing the bytes (decisions/0071). A buffer is reused once `release` has returned it.
 */
export class ReadBuffers {
  /** Size of a buffer. */
  readonly bytes: number;
  readonly #free: Buffer[] = [];
  /** How far each lent buffer was filled. */
  readonly #lent = new WeakMap<ArrayBufferLike, number>();

  constructor(connections: number) {
    this.bytes = Math.max(narrowestBytes, Math.min(widestBytes, Math.floor(allBytes / connections)));
  }

  /** How a socket reads; `push` takes each chunk and says whether there is room for more. */
  socketOptions(push: (chunk: Buffer) => boolean): OnReadOpts {
    let buffer = this.#take();
    return {
      buffer: () => buffer,
      callback: (length) => {
        const chunk = buffer.subarray(0, length);
        // A small chunk would keep a large buffer in memory while it waits.
        if (length < this.bytes / 4) return push(Buffer.from(chunk));
        this.#lent.set(buffer.buffer, length);
        buffer = this.#take();
        return push(chunk);
      },
    };
  }

  /** Takes back a chunk that is no longer needed. A fragment of a read, or a chunk from elsewhere, is ignored. */
  release(chunk: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = chunk;
    if (byteOffset !== 0 || this.#lent.get(buffer) !== byteLength) return;
    this.#lent.delete(buffer);
    this.#free.push(Buffer.from(buffer));
  }

  #take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }
}
