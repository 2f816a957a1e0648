import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { writeDurably } from './durable-file.ts';
import { hashPrefix } from './hash-file.ts';

/** Proof that bytes on disk belong to an object: its strong ETag and its length in bytes. */
export interface ResumePoint {
  etag: string;
  total: number;
}

/**
 * A file being downloaded, its running SHA-256, and beside it `<file>.resume.json` with the resume point. The bytes on
 * disk are the truth: their number and digest are read back when an earlier process left some.
 */
export class PartialFile {
  readonly #handle: FileHandle;
  readonly #sidecar: string;
  #hash: Hash;
  #offset: number;
  #resume: ResumePoint | null;
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(handle: FileHandle, sidecar: string, hash: Hash, offset: number, resume: ResumePoint | null) {
    this.#handle = handle;
    this.#sidecar = sidecar;
    this.#hash = hash;
    this.#offset = offset;
    this.#resume = resume;
  }

  /** Opens or makes the file. Bytes without a resume point prove nothing and are not counted. */
  static async open(file: string, signal?: AbortSignal): Promise<PartialFile> {
    const sidecar = `${file}.resume.json`;
    const handle = await open(file, constants.O_RDWR | constants.O_CREAT, 0o644);
    try {
      const resume = await readResumePoint(sidecar);
      const { size } = await handle.stat();
      // The last byte of a complete file is fetched again: the answer proves that the object is still the same.
      const offset = resume && size <= resume.total ? Math.max(0, Math.min(size, resume.total - 1)) : 0;
      return new PartialFile(handle, sidecar, await hashPrefix(file, offset, signal), offset, resume);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Bytes on disk that belong to the object. */
  get offset(): number {
    return this.#offset;
  }

  /** Null when nothing proves what the bytes belong to: a cut then means starting over. */
  get resume(): ResumePoint | null {
    return this.#offset > 0 ? this.#resume : null;
  }

  /** Forgets all bytes and begins with another object; the proof is on disk before the first byte is. */
  async startOver(resume: ResumePoint | null): Promise<void> {
    await this.#settle();
    await rm(this.#sidecar, { force: true });
    await this.#handle.truncate(0);
    this.#hash = createHash('sha256');
    this.#offset = 0;
    this.#resume = resume;
    if (resume) await writeDurably(this.#sidecar, `${JSON.stringify(resume)}\n`);
  }

  /** Takes the next bytes; hashing them overlaps with writing them. */
  async append(chunk: Uint8Array): Promise<void> {
    await this.#writing;
    this.#writing = this.#write(chunk, this.#offset);
    // A failed write is thrown by the next call; until then nobody waits for it.
    this.#writing.catch(() => undefined);
    this.#hash.update(chunk);
    this.#offset += chunk.length;
  }

  /** Waits for the last write. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Lowercase hex SHA-256 of the whole file, once it is on the disk for good. */
  async finish(): Promise<string> {
    await this.#writing;
    await this.#handle.truncate(this.#offset);
    await this.#handle.sync();
    return this.#hash.copy().digest('hex');
  }

  async close(): Promise<void> {
    await this.#settle();
    await this.#handle.close();
  }

  async #write(chunk: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.#handle.write(chunk, done, chunk.length - done, position + done);
      done += bytesWritten;
    }
  }

  async #settle(): Promise<void> {
    await this.#writing.catch(() => undefined);
  }
}

/** Anything unreadable means starting over, never failing. */
async function readResumePoint(sidecar: string): Promise<ResumePoint | null> {
  try {
    const { etag, total } = JSON.parse(await readFile(sidecar, 'utf8'));
    return typeof etag === 'string' && Number.isSafeInteger(total) && total > 0 ? { etag, total } : null;
  } catch {
    return null;
  }
}
