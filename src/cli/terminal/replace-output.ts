import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { syncPath, tempName } from '../../bundle/files/durable-file.ts';
import { usageFailure } from '../failures/cli-failure.ts';

/**
 * Writes a file whole or not at all: under a temporary name beside it, renamed at the end. An existing file keeps its
 * place behind a symlink and its permissions. Text is written as UTF-8. Returns the bytes written. Throws a usage failure
 * that names `flag` where no file can be written.
 */
export async function replaceFile(
  flag: string,
  path: string,
  chunks: AsyncIterable<string | Uint8Array>,
): Promise<number> {
  const { file, mode } = await placeFor(flag, path);
  const temp = tempName(file);
  let bytes: number;
  try {
    const handle = await open(temp, 'wx');
    try {
      if (mode !== null) await handle.chmod(mode);
      bytes = await writeAll(handle, chunks);
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
  return bytes;
}

async function writeAll(handle: FileHandle, chunks: AsyncIterable<string | Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) {
    const data = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
    await handle.writeFile(data);
    bytes += data.length;
  }
  return bytes;
}

/** The file behind symlinks, and its permissions; a device or pipe is never replaced by a file. */
async function placeFor(flag: string, path: string): Promise<{ file: string; mode: number | null }> {
  const found = await stat(path).catch(ignoreMissing);
  if (found === null) {
    const folder = await stat(dirname(resolve(path))).catch(ignoreMissing);
    if (folder?.isDirectory()) return { file: path, mode: null };
    throw usageFailure(`${flag} names ${path}: there is no folder ${dirname(path)}`, 'create the folder first');
  }
  if (found.isDirectory()) throw usageFailure(`${flag} names ${path}: it is a folder`, 'name a file');
  if (!found.isFile()) throw usageFailure(`${flag} names ${path}: it is not a regular file`, 'write to stdout with -');
  return { file: await realpath(path), mode: found.mode & 0o777 };
}

function ignoreMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
