import { Transform, type TransformCallback } from 'node:stream';

/**
 * Passes bytes on and masks every occurrence of a secret by asterisks, so that the length stays. Holds back no more than
 * the secret is long.
 */
export class WithoutSecret extends Transform {
  readonly #secret: Buffer;
  /** The end of what came, as far as it may be the beginning of the secret. */
  #held = Buffer.alloc(0);

  /** @param secret not empty */
  constructor(secret: string) {
    super();
    this.#secret = Buffer.from(secret);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const masked = this.#mask(bytes);
    const sendable = masked.length - this.#beginningAtEndOf(masked);
    // A copy: the chunk's own memory may be large.
    this.#held = Buffer.from(masked.subarray(sendable));
    done(null, masked.subarray(0, sendable));
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#held);
  }

  #mask(bytes: Buffer): Buffer {
    let at = bytes.indexOf(this.#secret);
    if (at < 0) return bytes;
    const masked = Buffer.from(bytes);
    for (; at >= 0; at = masked.indexOf(this.#secret, at)) masked.fill('*', at, at + this.#secret.length);
    return masked;
  }

  /** How many bytes at the end may begin the secret. */
  #beginningAtEndOf(bytes: Buffer): number {
    for (let length = Math.min(this.#secret.length - 1, bytes.length); length > 0; length -= 1) {
      const end = bytes.subarray(bytes.length - length);
      if (end.equals(this.#secret.subarray(0, length))) return length;
    }
    return 0;
  }
}
