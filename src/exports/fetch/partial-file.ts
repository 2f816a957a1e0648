import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { type ByteSpan, replaceFile } from '../../files.ts';

/** A set of bytes of a file, as spans that neither touch nor overlap, in order. */
export class ByteSpans {
  spans: readonly ByteSpan[] = [];
  count = 0;

  add({ start, end }: ByteSpan): void {
    if (start >= end) return;
    const touching = this.spans.filter((span) => span.start <= end && span.end >= start);
    const joined = {
      start: Math.min(start, ...touching.map((span) => span.start)),
      end: Math.max(end, ...touching.map((span) => span.end)),
    };
    this.#set([
      ...this.spans.filter((span) => span.end < joined.start),
      joined,
      ...this.spans.filter((span) => span.start > joined.end),
    ]);
  }

  remove({ start, end }: ByteSpan): void {
    if (start >= end) return;
    this.#set(
      this.spans
        .flatMap((span) => [
          { start: span.start, end: Math.min(span.end, start) },
          { start: Math.max(span.start, end), end: span.end },
        ])
        .filter((span) => span.start < span.end),
    );
  }

  /** Where the first gap begins. */
  get prefix(): number {
    const [first] = this.spans;
    return first?.start === 0 ? first.end : 0;
  }

  /** What is missing up to `total`, in order. */
  gaps(total: number): ByteSpan[] {
    const starts = [0, ...this.spans.map((span) => span.end)];
    const ends = [...this.spans.map((span) => span.start), total];
    return starts
      .map((start, index) => ({ start, end: Math.min(ends[index] ?? total, total) }))
      .filter((gap) => gap.start < gap.end);
  }

  #set(spans: readonly ByteSpan[]): void {
    this.spans = spans;
    this.count = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  }
}

const readBytes = 1024 ** 2;

/** The SHA-256 of a file being written: what lies behind a gap is read back once the gap is filled. */
class PrefixHash {
  readonly #hash = createHash('sha256');
  #position = 0;
  #reading: Promise<void> | null = null;

  /** Takes bytes that are about to be written, if they are the next ones. */
  offer(chunk: Uint8Array, position: number): void {
    if (this.#reading || position !== this.#position) return;
    this.#hash.update(chunk);
    this.#position += chunk.length;
  }

  /** Reads the file up to its first gap (`prefixOf`); does nothing when that is done or under way. */
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

/** Proof that bytes on disk belong to an object: its strong ETag and its length in bytes. */
export interface ObjectIdentity {
  etag: string;
  total: number;
}

/** Bytes that arrived in order from `start`: `crc` is the CRC-32 of all of them up to `end`. */
interface Checkpoint {
  start: number;
  end: number;
  crc: number;
}

const linePattern = /^(\d{1,15}) (\d{1,15}) ([0-9a-f]{8})$/;

/**
 * Begins the journal beside a download in place of any other: the object's identity, then a line for each checkpoint on
 * disk. It lets a download resume after `kill -9` and after a power failure: a line is written after the bytes it
 * describes and believed only if they have its checksum. Lines are not flushed, since one that is wrong has a wrong
 * checksum. Attempts that woke up in the same process may do this at once.
 */
export async function beginJournal(
  path: string,
  identity: ObjectIdentity,
  proved: readonly Checkpoint[],
): Promise<FileHandle> {
  await replaceFile(path, [`${JSON.stringify(identity)}\n`, ...proved.map(journalLine)].join(''));
  return open(path, 'a');
}

/** Null when no journal can be read: that means starting over. Throws the signal's reason and system errors. */
export async function readJournal(
  path: string,
  file: FileHandle,
  signal?: AbortSignal,
): Promise<{ identity: ObjectIdentity; proved: Checkpoint[] } | null> {
  const [head = '', ...lines] = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  const identity = parseIdentity(head);
  if (!identity) return null;
  const proved: Checkpoint[] = [];
  for (const run of runsOf(lines, identity.total)) proved.push(await provedPrefix(file, run, signal));
  return { identity, proved: proved.filter(({ start, end }) => start < end) };
}

interface Run {
  start: number;
  checkpoints: { end: number; crc: number }[];
}

/** The checkpoints by their common start, each group in the order of the ends. */
function runsOf(lines: readonly string[], total: number): Run[] {
  const runs = new Map<number, Run>();
  for (const line of lines) {
    const [, first, last, hex] = linePattern.exec(line) ?? [];
    if (first === undefined || last === undefined || hex === undefined) continue;
    const [start, end] = [Number(first), Number(last)];
    if (start >= end || end > total) continue;
    const run = runs.get(start) ?? { start, checkpoints: [] };
    run.checkpoints.push({ end, crc: Number.parseInt(hex, 16) });
    runs.set(start, run);
  }
  for (const { checkpoints } of runs.values()) checkpoints.sort((a, b) => a.end - b.end);
  return [...runs.values()];
}

async function provedPrefix(file: FileHandle, { start, checkpoints }: Run, signal?: AbortSignal): Promise<Checkpoint> {
  const buffer = Buffer.allocUnsafe(readBytes);
  let proved = { start, end: start, crc: 0 };
  for (const { end, crc: expected } of checkpoints) {
    let { end: at, crc } = proved;
    while (at < end) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at), at);
      if (bytesRead === 0) return proved;
      crc = crc32(buffer.subarray(0, bytesRead), crc);
      at += bytesRead;
    }
    if (crc !== expected) return proved;
    proved = { start, end, crc };
  }
  return proved;
}

export function journalLine({ start, end, crc }: Checkpoint): string {
  return `${start} ${end} ${crc.toString(16).padStart(8, '0')}\n`;
}

function parseIdentity(line: string): ObjectIdentity | null {
  try {
    const { etag, total } = JSON.parse(line);
    return typeof etag === 'string' && Number.isSafeInteger(total) && total > 0 ? { etag, total } : null;
  } catch {
    return null;
  }
}

const openEnd = Number.MAX_SAFE_INTEGER;

/**
 * A file being downloaded in any order, its running SHA-256, and beside it `<file>.resume` with the journal of what is
 * on disk (`beginJournal`). Another object goes into a new file, so that a late write to the old one does no harm.
 */
export class PartialFile {
  readonly #path: string;
  #handle: FileHandle;
  #journal: FileHandle | null = null;
  /** The object that the bytes belong to; null when nothing proves it, and a cut then means starting over. */
  identity: ObjectIdentity | null = null;
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

  get bytes(): number {
    return this.#done.count;
  }

  /** What is not on disk yet, in order; open-ended when the length is unknown. */
  gaps(): ByteSpan[] {
    return this.#done.gaps(this.identity?.total ?? openEnd);
  }

  async startOver(identity: ObjectIdentity | null): Promise<void> {
    await this.close();
    for (const path of [journalOf(this.#path), this.#path]) await rm(path, { force: true });
    this.#handle = await open(this.#path, constants.O_RDWR | constants.O_CREAT, 0o644);
    this.#hash = new PrefixHash();
    this.#done = new ByteSpans();
    this.identity = identity;
    this.#journal = identity && (await beginJournal(journalOf(this.#path), identity, []));
  }

  writerFrom(start: number): RangeWriter {
    return new RangeWriter(start, this.#handle, {
      taken: (chunk, position) => this.#hash.offer(chunk, position),
      written: async (end, crc) => {
        await this.#journal?.write(journalLine({ start, end, crc }));
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
    this.identity = found.identity;
    this.#journal = await beginJournal(journal, found.identity, found.proved);
    this.#hash.follow(this.#handle, () => this.#done.prefix);
  }
}

interface WriterCallbacks {
  taken(chunk: Uint8Array, position: number): void;
  written(end: number, crc: number): Promise<void>;
}

/**
 * Writes what one connection receives. Chunks that arrive while a write is under way go with the next one, so that writes
 * are few and large.
 */
export class RangeWriter {
  readonly #handle: FileHandle;
  readonly #callbacks: WriterCallbacks;
  /** Where the next byte goes. */
  position: number;
  /** Bytes taken that are not on disk yet. */
  pending = 0;
  #waiting: { chunk: Uint8Array; written: () => void }[] = [];
  #crc = 0;
  #writing: Promise<void> | null = null;
  #failure: { error: unknown } | null = null;

  constructor(start: number, handle: FileHandle, callbacks: WriterCallbacks) {
    this.position = start;
    this.#handle = handle;
    this.#callbacks = callbacks;
  }

  /** Takes the next bytes; `written` is called when they are on disk. */
  write(chunk: Uint8Array, written: () => void): void {
    this.#callbacks.taken(chunk, this.position);
    this.position += chunk.length;
    this.pending += chunk.length;
    this.#waiting.push({ chunk, written });
    this.#writing ??= this.#writeAll();
  }

  /** Waits until all bytes taken are on disk. Throws the disk's first error. */
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
    const start = this.position - this.pending;
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    for (const chunk of chunks) this.#crc = crc32(chunk, this.#crc);
    await writeFully(this.#handle, chunks, start);
    await this.#callbacks.written(start + bytes, this.#crc);
    this.pending -= bytes;
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
