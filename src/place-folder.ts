import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';
import { flushPath } from './replace-file.ts';

const taken = ['ENOTEMPTY', 'EEXIST'];

/**
 * Renames a finished folder into its place, for good once this returns. Where another process was quicker, its folder
 * stays and this one too: two writers never mix. Throws other system errors.
 */
export async function placeFolder(finished: string, place: string): Promise<void> {
  await rename(finished, place).catch((error: unknown) => {
    if (!taken.includes(errorCode(error) ?? '')) throw error;
  });
  await flushPath(dirname(place));
}
