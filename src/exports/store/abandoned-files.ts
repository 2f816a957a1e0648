import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../../if-missing.ts';
import { isTempName } from '../../replace-file.ts';

/** A staged download untouched for longer was abandoned: a running export writes or publishes it much sooner. */
export const abandonedAfterMs = 7 * 24 * 3_600_000;

/**
 * Staging that all domains share is checked once an hour: otherwise each export would look at what all others have
 * staged.
 */
const sharedEveryMs = 3_600_000;

/** Whether it is time to look at what belongs to no domain; asking counts as looking. */
export class SharedLookout {
  #lastAt = Number.NEGATIVE_INFINITY;

  isDue(now: Date): boolean {
    if (now.getTime() - this.#lastAt < sharedEveryMs) return false;
    this.#lastAt = now.getTime();
    return true;
  }
}

/** Removes everything in a staging folder that was last written more than a week ago. Throws system errors. */
export async function removeAbandonedDownloads(staging: string, now: Date): Promise<void> {
  await removeAbandoned(staging, now, () => true);
}

/** Removes the temporary files in a folder, not below it, that are older than a week. Throws system errors. */
export async function removeAbandonedTemps(folder: string, now: Date): Promise<void> {
  await removeAbandoned(folder, now, isTempName);
}

async function removeAbandoned(folder: string, now: Date, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of (await readdir(folder).catch(ifMissing([]))).filter(isOurs)) {
    const path = join(folder, name);
    const last = await lastWritten(path).catch(ifMissing(now.getTime()));
    if (now.getTime() - last > abandonedAfterMs) await rm(path, { recursive: true, force: true });
  }
}

/** When a file, or a folder and the files in it, last changed, in milliseconds. */
async function lastWritten(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const within = await Promise.all((await readdir(path)).map((name) => stat(join(path, name))));
  return Math.max(found.mtimeMs, ...within.map(({ mtimeMs }) => mtimeMs));
}
