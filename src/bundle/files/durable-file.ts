import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A name in the same folder that no other writer uses. */
export function tempName(file: string): string {
  return `${file}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`;
}

/** Whether a name is one of `tempName`'s. */
export function isTempName(name: string): boolean {
  return /\.\d+-[0-9a-f]{12}\.tmp$/.test(name);
}

/** Puts a file in place whole or not at all, and for good when this returns. */
export async function writeDurably(file: string, content: string): Promise<void> {
  const temp = tempName(file);
  try {
    const handle = await open(temp, 'wx');
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temp, file);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  await syncPath(dirname(file));
}

/** As `writeDurably`, without giving other work of this process a turn. */
export function writeDurablySync(file: string, content: string): void {
  const temp = tempName(file);
  try {
    writeFileSync(temp, content, { flag: 'wx', flush: true });
    renameSync(temp, file);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Flushes a file or the entries of a folder to the disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
