import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { flushPath } from '../../replace-file.ts';
import { isThere } from '../doctor/writable.ts';

/** Something finished, and where it goes. */
export interface Finished {
  from: string;
  to: string;
}

/** What SQLite keeps beside a database. */
const companions = ['-wal', '-shm'];

/**
 * Renames everything into its place, and what was there to `<name>.before-<moment>`. Does all of it or, on a failure,
 * nothing. Returns the new names of what was there.
 */
export async function putInPlace(all: readonly Finished[], at: Date): Promise<string[]> {
  const suffix = `.before-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  const done: Finished[] = [];
  const aside: string[] = [];
  const move = async (from: string, to: string) => {
    await rename(from, to);
    done.push({ from, to });
  };
  try {
    for (const { from, to } of all) {
      await mkdir(dirname(to), { recursive: true });
      for (const name of ['', ...companions].map((end) => to + end)) {
        if (!(await isThere(name))) continue;
        await move(name, name + suffix);
        aside.push(name + suffix);
      }
      await move(from, to);
      await flushPath(dirname(to));
    }
    return aside;
  } catch (error) {
    for (const { from, to } of done.reverse()) await rename(to, from);
    throw error;
  }
}
