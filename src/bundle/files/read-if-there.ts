import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** For a `catch`: what to answer when there is no such file; other errors go on. */
export function nothingThere<T>(otherwise: () => T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return otherwise();
    throw error;
  };
}

/** The text of a file, null when there is none. */
export function readIfThere(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(nothingThere(() => null));
}

export function readIfThereSync(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return nothingThere(() => null)(error);
  }
}
