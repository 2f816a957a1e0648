import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, type Stats, writeFileSync } from 'node:fs';
import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A hidden name in the same folder that no other writer uses. */
export function tempName(file: string): string {
  return join(dirname(file), `.${basename(file)}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`);
}

/** Whether a name is one of `tempName`'s. */
export function isTempName(name: string): boolean {
  return /\.\d+-[0-9a-f]{12}\.tmp$/.test(name);
}

/** A mode, and the owner if it is not this process. */
type FileAccess = Pick<Stats, 'mode'> | Pick<Stats, 'mode' | 'uid' | 'gid'>;

/**
 * Puts a file in place whole or not at all, durably once this returns. It replaces what was at `file`, even a symbolic
 * link. With `keep`, the new file gets that mode and, where permitted, that owner. Returns the bytes written. Throws
 * system errors and what `content` throws.
 */
export async function replaceFile(
  file: string,
  content: string | AsyncIterable<string | Uint8Array>,
  keep?: FileAccess,
): Promise<number> {
  const temp = tempName(file);
  let bytes: number;
  try {
    // Until its mode is set, no other user may read what replaces a private file.
    const handle = await open(temp, 'wx', keep ? 0o600 : 0o666);
    try {
      await writeFile(handle, content);
      if (keep) {
        // Only root may give files away; for every other user the file is theirs already or becomes theirs.
        if ('uid' in keep) await handle.chown(keep.uid, keep.gid).catch(() => undefined);
        await handle.chmod(keep.mode & 0o7777);
      }
      await handle.sync();
      bytes = (await handle.stat()).size;
    } finally {
      await handle.close();
    }
    await rename(temp, file);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  await flushPath(dirname(file));
  return bytes;
}

/**
 * Like `replaceFile` for a file that exists: its mode and owner stay, and a symbolic link stays one to the same file.
 */
export async function rewriteFile(path: string, content: string | AsyncIterable<string | Uint8Array>): Promise<number> {
  const file = await realpath(path);
  return replaceFile(file, content, await stat(file));
}

/** Like `replaceFile`, without giving other work of this process a turn. */
export function replaceFileSync(file: string, content: string): void {
  const temp = tempName(file);
  try {
    writeFileSync(temp, content, { flag: 'wx', flush: true });
    renameSync(temp, file);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
  flushFolderSync(dirname(file));
}

/** Removes a file for good, if it is there, without giving other work of this process a turn. */
export function removeFileSync(file: string): void {
  if (!existsSync(file)) return;
  rmSync(file, { force: true });
  flushFolderSync(dirname(file));
}

function flushFolderSync(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Flushes a file or the entries of a folder to the disk. */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
