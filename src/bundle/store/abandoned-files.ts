import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../../files/if-missing.ts';
import { isTempName } from '../../files/replace-file.ts';

/** No step of an export leaves its staged files untouched for so long, unless it was ended from outside. */
export const abandonedAfterMs = 7 * 24 * 3_600_000;

/** Removes what lies in a staging folder and was last written more than a week ago. Throws system errors. */
export async function removeAbandonedDownloads(staging: string, now: Date): Promise<void> {
  for (const name of await readdir(staging).catch(ifMissing([]))) {
    const path = join(staging, name);
    const last = await lastWritten(path).catch(ifMissing(now.getTime()));
    if (now.getTime() - last > abandonedAfterMs) await rm(path, { recursive: true, force: true });
  }
}

/**
 * Removes the temporary files in a folder, not below it, that nobody has put in place for more than a week. Throws
 * system errors.
 */
export async function removeAbandonedTemps(folder: string, now: Date): Promise<void> {
  for (const name of (await readdir(folder).catch(ifMissing([]))).filter(isTempName)) {
    const path = join(folder, name);
    const last = await lastWritten(path).catch(ifMissing(now.getTime()));
    if (now.getTime() - last > abandonedAfterMs) await rm(path, { recursive: true, force: true });
  }
}

/** The newest time of a change of a file, or of a folder and the files in it, in milliseconds. */
async function lastWritten(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const within = await Promise.all((await readdir(path)).map((name) => stat(join(path, name))));
  return Math.max(found.mtimeMs, ...within.map(({ mtimeMs }) => mtimeMs));
}
