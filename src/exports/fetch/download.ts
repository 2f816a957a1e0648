import { dirname } from 'node:path';
import { errorCode } from '../../error-code.ts';
import { spanText } from '../../rules/details-text.ts';
import { DownloadFailed, NoRoom } from './download-errors.ts';
import { DownloadRoom, freeBytes } from './free-space.ts';
import { linkDispatchers } from './object-request.ts';
import { ObjectTransfer, type TransferSettings } from './object-transfer.ts';
import { PartialFile } from './partial-file.ts';
import { type LinkSource, PresignedLinks } from './presigned-links.ts';
import { ReadBuffers } from '../../read-buffers.ts';

const lookAtDiskEveryMs = 2_000;
const diskFull = ['ENOSPC', 'EDQUOT'];

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
    throw isDiskFull(error) ? new NoRoom(`the disk of ${folder} is full: make room`) : error;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (const end of ended) end();
    await dispatchers.destroy();
  }
}

function isDiskFull(error: unknown): boolean {
  return diskFull.includes(errorCode(error) ?? '');
}
