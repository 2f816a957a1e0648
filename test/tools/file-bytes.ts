import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../src/files.ts';

/**
 * What all files of a folder and the folders in it hold, free pages of databases and their logs included. A garbage
 * collection may end a connection meanwhile (`src/sqlite.ts`), and SQLite then moves its log into the database: what
 * vanishes has them all read again.
 */
export function bytesIn(folder: string): string {
  const found = readdirSync(folder, { withFileTypes: true, recursive: true });
  try {
    return found
      .filter((file) => file.isFile())
      .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'))
      .join('\n');
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return bytesIn(folder);
  }
}
