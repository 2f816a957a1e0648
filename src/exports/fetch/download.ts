import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pathProblem, ReadBuffers } from '../../files.ts';
import { sizeText, spanText } from '../../rules/text.ts';
import { linkDispatchers } from './object-request.ts';
import { ObjectTransfer, type TransferSettings } from './object-transfer.ts';
import { PartialFile } from './partial-file.ts';
import { DownloadFailed, type LinkSource, NoRoom, PresignedLinks } from './presigned-links.ts';

/** Left free for everything else on the disk. */
const spareBytes = 64 * 1024 ** 2;

/** Bytes that this process may still write to the file system of a folder. Throws system errors. */
async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

const underWay = new Set<DownloadRoom>();

/** The room that a download needs beside those of this process that began before it and write to the same device. */
export class DownloadRoom {
  readonly #folder: string;
  readonly #free: typeof freeBytes;
  readonly #device: number;
  readonly #bytesLeft: () => number;

  private constructor(folder: string, free: typeof freeBytes, device: number, bytesLeft: () => number) {
    this.#folder = folder;
    this.#free = free;
    this.#device = device;
    this.#bytesLeft = bytesLeft;
    underWay.add(this);
  }

  /** Counts `bytesLeft` against the room of later downloads, until `end`. Throws system errors. */
  static async begin(folder: string, free: typeof freeBytes, bytesLeft: () => number): Promise<DownloadRoom> {
    return new DownloadRoom(folder, free, (await stat(folder)).dev, bytesLeft);
  }

  /** Throws `NoRoom` unless the rest of this download fits beside the earlier ones. */
  async requireBesideOthers(): Promise<void> {
    const all = [...underWay].filter((other) => other.#device === this.#device);
    const earlier = all.slice(0, all.indexOf(this));
    await this.#require(earlier.reduce((sum, other) => sum + other.#bytesLeft(), this.#bytesLeft()));
  }

  /** Throws `NoRoom` unless the rest of this download alone fits. */
  async requireForOwn(): Promise<void> {
    await this.#require(this.#bytesLeft());
  }

  end(): void {
    underWay.delete(this);
  }

  /** Throws `NoRoom` unless so much fits on the disk with some to spare; does nothing when that is unknown. */
  async #require(bytes: number): Promise<void> {
    const available = await this.#free(this.#folder).catch(() => Number.POSITIVE_INFINITY);
    if (available >= bytes + spareBytes) return;
    throw new NoRoom(
      `${sizeText(bytes + spareBytes)} are needed in ${this.#folder} and ${sizeText(available)} are free: make room, ` +
        'or put the bundle store (store.bundles) on a larger disk',
    );
  }
}

const lookAtDiskEveryMs = 2_000;

export interface DownloadOptions extends TransferSettings {
  /** Where the archive goes; `<file>.resume` beside it proves what is on disk. */
  file: string;
  /** Connections at once where the source supports ranges; 1 by default. */
  connections?: number;
  /** Longest time of the whole download in milliseconds; none by default. */
  timeLimitMs?: number;
  signal?: AbortSignal;
  /** Free bytes of a folder's disk; those the system reports by default. */
  freeBytes?: typeof freeBytes;
}

export interface DownloadResult {
  /** Lowercase hex SHA-256 of the archive. */
  sha256: string;
  bytes: number;
  etag: string | null;
  /** Bytes on disk each time the download resumed instead of starting over, in order. */
  resumedFrom: number[];
  /** Length that the service announced with its newest link, null when it did not; the object's own length counts. */
  announcedBytes: number | null;
}

/**
 * Downloads an object by presigned links to a file (E3). It resumes after cuts, expired links and earlier calls with the
 * same file when the object is provably unchanged: strong ETag, `If-Match`, and range, length and ETag of every 206
 * checked. Sends no credentials. Throws `LinkExpired`, `LinkRefused`, `DownloadFailed`, `ArchiveTooLarge`, `NoRoom`,
 * system errors of the disk, what `source` throws, and the signal's reason; only the last two can contain a link.
 */
export async function download(source: LinkSource, options: DownloadOptions): Promise<DownloadResult> {
  options.signal?.throwIfAborted();
  const folder = dirname(options.file);
  const free = options.freeBytes ?? freeBytes;
  const limits = new AbortController();
  const signal = AbortSignal.any(options.signal ? [options.signal, limits.signal] : [limits.signal]);
  const { connections = 1, timeLimitMs } = options;
  const buffers = new ReadBuffers(connections);
  const dispatchers = linkDispatchers(options.policy, buffers);
  const timers: NodeJS.Timeout[] = [];
  const ended: (() => void)[] = [];
  try {
    const file = await PartialFile.open(options.file, signal);
    try {
      const links = new PresignedLinks(source);
      const transfer: ObjectTransfer = new ObjectTransfer({
        ...options,
        connections,
        signal,
        buffers,
        dispatchers,
        file,
        links,
        requireRoom: () => room.requireBesideOthers(),
      });
      const room = await DownloadRoom.begin(folder, free, () => transfer.bytesLeft);
      ended.push(() => room.end());
      const lookAtDisk = () => room.requireForOwn().catch((noRoom) => limits.abort(noRoom));
      timers.push(setInterval(lookAtDisk, lookAtDiskEveryMs));
      if (timeLimitMs !== undefined) {
        const tooLong = new DownloadFailed(`the download took longer than ${spanText(timeLimitMs)}`, false);
        timers.push(setTimeout(() => limits.abort(tooLong), timeLimitMs));
      }
      await transfer.run();
      const sha256 = await file.finish();
      const { etag, resumedFrom } = transfer;
      return { sha256, bytes: file.bytes, etag, resumedFrom, announcedBytes: links.sizeBytes };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw pathProblem(error)?.isFull ? new NoRoom(`the disk of ${folder} is full: make room`) : error;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (const end of ended) end();
    await dispatchers.destroy();
  }
}

const measuredMs = 10_000;
const shortestMs = 500;

/** Bytes per second over the last ten seconds of a download. */
export class TransferSpeed {
  #samples: { at: number; offset: number }[] = [];

  /** Notes the bytes on disk at a moment in milliseconds. Fewer than before means that the download started over. */
  add(at: number, offset: number): void {
    const last = this.#samples.at(-1);
    if (last && offset < last.offset) this.#samples = [];
    this.#samples = [...this.#samples.filter((sample) => at - sample.at <= measuredMs), { at, offset }];
  }

  /** Null until enough bytes have arrived to estimate it. */
  get bytesPerSecond(): number | null {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.at - first.at < shortestMs) return null;
    return ((last.offset - first.offset) * 1000) / (last.at - first.at);
  }
}
