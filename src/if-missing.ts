import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { errorCode } from './error-code.ts';

/** For a `catch`: what to answer when the file does not exist; other errors are thrown. */
export function ifMissing<T>(otherwise: T): (error: unknown) => T {
  return (error) => {
    if (errorCode(error) === 'ENOENT') return otherwise;
    throw error;
  };
}

/** The text of a file, null when there is none. */
export function readIfExists(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(ifMissing(null));
}

export function readIfExistsSync(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return ifMissing(null)(error);
  }
}

/** The size of a file in bytes, null when there is none. */
export async function sizeIfExists(file: string): Promise<number | null> {
  return (await stat(file).catch(ifMissing(null)))?.size ?? null;
}
