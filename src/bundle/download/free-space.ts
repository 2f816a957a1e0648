import { statfs } from 'node:fs/promises';
import { sizeText } from '../../model/quantities.ts';
import { NoRoom } from './download-errors.ts';

/** Left free for everything else on the disk. */
const spareBytes = 64 * 1024 ** 2;

/** Bytes that this process may still write to the file system of a folder. Throws system errors. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
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
