import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { replaceFile, rewriteFile } from '../../replace-file.ts';
import { usageFailure } from '../cli-failure.ts';

/**
 * Writes the file that `flag` names, whole or not at all. An existing file keeps its permissions, its owner and its
 * place behind a symbolic link; only this user can read a new private file. Text is written as UTF-8. Returns the bytes
 * written. Throws a usage failure where no file can be.
 */
export async function replaceOutput(
  flag: string,
  path: string,
  chunks: AsyncIterable<string | Uint8Array>,
  { isPrivate = false } = {},
): Promise<number> {
  const found = await stat(path).catch(ignoreMissing);
  if (found === null) {
    const folder = await stat(dirname(resolve(path))).catch(ignoreMissing);
    if (folder?.isDirectory()) return replaceFile(path, chunks, isPrivate ? { mode: 0o600 } : undefined);
    throw usageFailure(`${flag} names ${path}: there is no folder ${dirname(path)}`, 'create the folder first');
  }
  if (found.isDirectory()) throw usageFailure(`${flag} names ${path}: it is a folder`, 'name a file');
  // A device or pipe must never be replaced by a file.
  if (!found.isFile()) throw usageFailure(`${flag} names ${path}: it is not a regular file`, 'write to stdout with -');
  return rewriteFile(path, chunks);
}

function ignoreMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
