import { stat, statfs } from 'node:fs/promises';
import { sizeText } from '../../rules/quantities.ts';
import { NoRoom } from './download-errors.ts';

/** Left free for everything else on the disk. */
const spareBytes = 64 * 1024 ** 2;

/** Bytes that this process may still write to the file system of a folder. Throws system errors. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** What the downloads of this process still need, by the device they write to, in the order in which they began. */
const promised = new Map<number, (() => number)[]>();

/** The room that a download needs beside those of this process that began before it. */
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
    promised.set(device, [...this.#onDevice, bytesLeft]);
  }

  /** Counts `bytesLeft` against the room of later downloads, until `end`. Throws system errors. */
  static async begin(folder: string, free: typeof freeBytes, bytesLeft: () => number): Promise<DownloadRoom> {
    return new DownloadRoom(folder, free, (await stat(folder)).dev, bytesLeft);
  }

  /** Throws `NoRoom` unless the rest of this download fits beside the earlier ones. */
  async requireBesideOthers(): Promise<void> {
    const all = this.#onDevice;
    const earlier = all.slice(0, all.indexOf(this.#bytesLeft));
    await this.#require(earlier.reduce((sum, left) => sum + left(), 0));
  }

  /** Throws `NoRoom` unless the rest of this download fits, whatever happens to the others. */
  async requireForOwn(): Promise<void> {
    await this.#require(0);
  }

  end(): void {
    const others = this.#onDevice.filter((left) => left !== this.#bytesLeft);
    if (others.length > 0) promised.set(this.#device, others);
    else promised.delete(this.#device);
  }

  get #onDevice(): (() => number)[] {
    return promised.get(this.#device) ?? [];
  }

  async #require(forOthers: number): Promise<void> {
    await requireRoom(this.#folder, this.#bytesLeft() + forOthers, this.#free);
  }
}

/** Throws `NoRoom` unless this many bytes fit on the disk with some to spare; does nothing when that is unknown. */
export async function requireRoom(folder: string, bytes: number, free: typeof freeBytes): Promise<void> {
  const available = await free(folder).catch(() => Number.POSITIVE_INFINITY);
  if (available >= bytes + spareBytes) return;
  throw new NoRoom(
    `${sizeText(bytes + spareBytes)} are needed in ${folder} and ${sizeText(available)} are free: make room, or put ` +
      'the bundle store (store.bundles) on a larger disk',
  );
}
