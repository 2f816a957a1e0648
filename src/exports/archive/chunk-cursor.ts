import { ArchiveFault } from './archive-fault.ts';

/** Reads a sequence of pieces as one stream of at most `limit` bytes. */
export class ChunkCursor {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #limit: number;
  #chunk: Buffer = Buffer.alloc(0);
  #total = 0;

  constructor(chunks: AsyncIterable<Buffer>, limit: number) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#limit = limit;
  }

  /** The buffered bytes, at most `most`, valid until the next call; null at the end. */
  async piece(most: number): Promise<Buffer | null> {
    while (this.#chunk.length === 0) if (!(await this.#next())) return null;
    return this.#take(most);
  }

  /** Like `piece`, without waiting; also null when nothing is buffered. */
  pieceAtHand(most: number): Buffer | null {
    return this.#chunk.length === 0 ? null : this.#take(most);
  }

  /** Exactly `bytes` bytes in one piece, valid until the next call; null if the stream ends first. */
  async exactly(bytes: number): Promise<Buffer | null> {
    if (this.#chunk.length >= bytes) return this.#take(bytes);
    const gathered = Buffer.alloc(bytes);
    for (let filled = 0; filled < bytes; ) {
      const piece = await this.piece(bytes - filled);
      if (piece === null) return null;
      filled += piece.copy(gathered, filled);
    }
    return gathered;
  }

  /** Releases the source before its end. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  #take(most: number): Buffer {
    const taken = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(taken.length);
    return taken;
  }

  async #next(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#total += value.length;
    if (this.#total > this.#limit) {
      throw new ArchiveFault('too-many-bytes', null, `more than ${this.#limit} bytes unpacked, headers included`);
    }
    this.#chunk = value;
    return true;
  }
}
