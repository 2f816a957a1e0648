import { createHash, type Hash, hash } from 'node:crypto';
import type { ContentSink } from '../archive/archive-reader.ts';

export interface FileSinkCallbacks {
  /** Whether the content is to be kept; asked when it begins, for files that are not empty. */
  keeps: () => boolean;
  onBytes: (bytes: number) => void;
  /** With the lowercase hex SHA-256, and the content where it was to be kept. */
  onEnd: (sha256: string, content: Buffer | null) => void;
}

/** Hashes the content of one file, and keeps it when asked to. */
export class FileSink implements ContentSink {
  readonly #bytes: number;
  readonly #callbacks: FileSinkCallbacks;
  #kept: Buffer | null = null;
  #filled = 0;
  #digest: string | null = null;
  #hash: Hash | null = null;

  constructor(bytes: number, callbacks: FileSinkCallbacks) {
    this.#bytes = bytes;
    this.#callbacks = callbacks;
  }

  write(chunk: Uint8Array): void {
    if (this.#filled === 0 && this.#callbacks.keeps()) this.#kept = Buffer.allocUnsafe(this.#bytes);
    // Most files arrive in one piece, where creating a hash object costs more than hashing.
    if (chunk.length === this.#bytes) this.#digest = hash('sha256', chunk, 'hex');
    else this.#partial().update(chunk);
    this.#kept?.set(chunk, this.#filled);
    this.#filled += chunk.length;
    this.#callbacks.onBytes(chunk.length);
  }

  end(): void {
    this.#callbacks.onEnd(this.#digest ?? this.#partial().digest('hex'), this.#kept);
  }

  #partial(): Hash {
    this.#hash ??= createHash('sha256');
    return this.#hash;
  }
}
