import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What all files of a folder and the folders in it hold, free pages of databases and their logs included. */
export function bytesIn(folder: string): string {
  const found = readdirSync(folder, { withFileTypes: true, recursive: true });
  return found
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'))
    .join('\n');
}
