import { constants, copyFileSync, linkSync } from 'node:fs';
import { copyFile, link, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';
import { flushPath } from './replace-file.ts';

/** Other file systems, those without links, and files that have too many. */
const noLink = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS'];

function orCopy(error: unknown): void {
  if (!noLink.includes(errorCode(error) ?? '')) throw error;
}

/** Puts a file that never changes at a second place, as a link where that is possible. Throws system errors. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  try {
    await link(from, to);
  } catch (error) {
    orCopy(error);
    await copyDurably(from, to);
  }
}

/** Like `linkOrCopy`, without giving other work of this process a turn; the folder exists. */
export function linkOrCopySync(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    orCopy(error);
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
  }
}

/** Copies a file, as a clone where the file system can, and flushes it. Throws system errors. */
export async function copyDurably(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await flushPath(to);
}
