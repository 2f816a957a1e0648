import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const readBytes = 1024 ** 2;

/**
 * The SHA-256 of a file that is being written. Bytes that arrive in order are hashed at once; those behind a gap are
 * read from the file once the gap is filled, while the writing continues.
 */
export class PrefixHash {
  readonly #hash = createHash('sha256');
  #position = 0;
  #reading: Promise<void> | null = null;

  /** Takes bytes that are about to be written, if they are the next ones. */
  offer(chunk: Uint8Array, position: number): void {
    if (this.#reading || position !== this.#position) return;
    this.#hash.update(chunk);
    this.#position += chunk.length;
  }

  /** Reads the file up to its first gap, which `prefixOf` tells; does nothing when that is done or under way. */
  follow(file: FileHandle, prefixOf: () => number): void {
    if (this.#reading || prefixOf() <= this.#position) return;
    this.#reading = this.#read(file, prefixOf).finally(() => {
      this.#reading = null;
    });
    // The next call, or `digest`, continues where this one failed, and throws.
    this.#reading.catch(() => undefined);
  }

  /** Lowercase hex SHA-256 of the first `length` bytes, all of them on disk. Throws system errors. */
  async digest(file: FileHandle, length: number): Promise<string> {
    await this.#reading?.catch(() => undefined);
    await this.#read(file, () => length);
    return this.#hash.copy().digest('hex');
  }

  async #read(file: FileHandle, prefixOf: () => number): Promise<void> {
    const buffer = Buffer.allocUnsafe(readBytes);
    for (;;) {
      const length = Math.min(buffer.length, prefixOf() - this.#position);
      if (length <= 0) return;
      const { bytesRead } = await file.read(buffer, 0, length, this.#position);
      if (bytesRead === 0) throw new Error('the download became shorter while it was read');
      this.#hash.update(buffer.subarray(0, bytesRead));
      this.#position += bytesRead;
    }
  }
}
