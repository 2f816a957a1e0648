import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { type ByteSpan, ByteSpans } from './byte-spans.ts';
import { PrefixHash } from './prefix-hash.ts';
import { type ObjectIdentity, ResumeJournal, readJournal, removeJournal } from './resume-journal.ts';

const openEnd = Number.MAX_SAFE_INTEGER;

/** Writes what one connection receives. */
export interface RangeWriter {
  /** Where the next byte goes. */
  readonly position: number;
  /** Takes the next bytes; `written` is called when they are on disk. */
  write(chunk: Uint8Array, written: () => void): void;
  /** Bytes taken that are not on disk yet. */
  readonly pending: number;
  /** Waits until all bytes taken are on disk. Throws the disk's first error. */
  settled(): Promise<void>;
}

/**
 * A file being downloaded in any order, its running SHA-256, and beside it `<file>.resume` with the journal of what is
 * on disk (`resume-journal.ts`). Another object goes into a new file, so that a late write to the old one does no harm.
 */
export class PartialFile {
  readonly #path: string;
  #handle: FileHandle;
  #journal: ResumeJournal | null = null;
  #identity: ObjectIdentity | null = null;
  #done = new ByteSpans();
  #hash = new PrefixHash();

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Opens or creates the file. Bytes that nothing proves are not counted. */
  static async open(path: string, signal?: AbortSignal): Promise<PartialFile> {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o644);
    try {
      const file = new PartialFile(path, handle);
      await file.#resume(signal);
      return file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The object that the bytes belong to; null when nothing proves it, and a cut then means starting over. */
  get identity(): ObjectIdentity | null {
    return this.#identity;
  }

  /** Bytes on disk that belong to the object. */
  get bytes(): number {
    return this.#done.count;
  }

  /** What is not on disk yet, in order; open-ended when the length is unknown. */
  gaps(): ByteSpan[] {
    return this.#done.gaps(this.#identity?.total ?? openEnd);
  }

  /** Discards all bytes and begins with another object. */
  async startOver(identity: ObjectIdentity | null): Promise<void> {
    await this.close();
    await removeJournal(journalOf(this.#path));
    await rm(this.#path, { force: true });
    this.#handle = await open(this.#path, constants.O_RDWR | constants.O_CREAT, 0o644);
    this.#hash = new PrefixHash();
    this.#done = new ByteSpans();
    this.#identity = identity;
    this.#journal = identity && (await ResumeJournal.begin(journalOf(this.#path), identity, []));
  }

  /** Writes what one connection receives, from `start` on. */
  writerFrom(start: number): RangeWriter {
    return new QueuedWriter(start, this.#handle, {
      taken: (chunk, position) => this.#hash.offer(chunk, position),
      written: async (end, crc) => {
        await this.#journal?.append({ start, end, crc });
        this.#done.add({ start, end });
        this.#hash.follow(this.#handle, () => this.#done.prefix);
      },
    });
  }

  /** Lowercase hex SHA-256 of the whole file, all of whose bytes have been written. */
  async finish(): Promise<string> {
    const length = this.#done.prefix;
    await this.#handle.truncate(length);
    return this.#hash.digest(this.#handle, length);
  }

  async close(): Promise<void> {
    await this.#journal?.close();
    this.#journal = null;
    await this.#handle.close();
  }

  async #resume(signal: AbortSignal | undefined): Promise<void> {
    const journal = journalOf(this.#path);
    const found = await readJournal(journal, this.#handle, signal);
    if (!found) return;
    const { total } = found.identity;
    for (const checkpoint of found.proved) this.#done.add(checkpoint);
    // The last byte of a complete file is fetched again: the answer proves that the object is still the same.
    if (this.#done.count === total) this.#done.remove({ start: total - 1, end: total });
    this.#identity = found.identity;
    this.#journal = await ResumeJournal.begin(journal, found.identity, found.proved);
    this.#hash.follow(this.#handle, () => this.#done.prefix);
  }
}

interface WriterCallbacks {
  taken(chunk: Uint8Array, position: number): void;
  written(end: number, crc: number): Promise<void>;
}

/** Chunks that arrive while a write is under way go with the next one, so that writes are few and large. */
class QueuedWriter implements RangeWriter {
  readonly #handle: FileHandle;
  readonly #callbacks: WriterCallbacks;
  #position: number;
  #waiting: { chunk: Uint8Array; written: () => void }[] = [];
  #pending = 0;
  #crc = 0;
  #writing: Promise<void> | null = null;
  #failure: { error: unknown } | null = null;

  constructor(start: number, handle: FileHandle, callbacks: WriterCallbacks) {
    this.#position = start;
    this.#handle = handle;
    this.#callbacks = callbacks;
  }

  get position(): number {
    return this.#position;
  }

  get pending(): number {
    return this.#pending;
  }

  write(chunk: Uint8Array, written: () => void): void {
    this.#callbacks.taken(chunk, this.#position);
    this.#position += chunk.length;
    this.#pending += chunk.length;
    this.#waiting.push({ chunk, written });
    this.#writing ??= this.#writeAll();
  }

  async settled(): Promise<void> {
    await this.#writing;
    if (this.#failure) throw this.#failure.error;
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0 && !this.#failure) await this.#writeWaiting(this.#waiting.splice(0));
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#writing = null;
    }
  }

  async #writeWaiting(batch: { chunk: Uint8Array; written: () => void }[]): Promise<void> {
    const chunks = batch.map(({ chunk }) => chunk);
    const start = this.#position - this.#pending;
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    for (const chunk of chunks) this.#crc = crc32(chunk, this.#crc);
    await writeFully(this.#handle, chunks, start);
    await this.#callbacks.written(start + bytes, this.#crc);
    this.#pending -= bytes;
    for (const { written } of batch) written();
  }
}

async function writeFully(handle: FileHandle, chunks: readonly Uint8Array[], position: number): Promise<void> {
  let at = position;
  let left = [...chunks];
  while (left.length > 0) {
    let { bytesWritten } = await handle.writev(left, at);
    at += bytesWritten;
    while (left[0] && bytesWritten >= left[0].length) bytesWritten -= left.shift()?.length ?? 0;
    left = left.map((chunk, index) => (index === 0 ? chunk.subarray(bytesWritten) : chunk));
  }
}

function journalOf(path: string): string {
  return `${path}.resume`;
}
