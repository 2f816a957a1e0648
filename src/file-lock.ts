import { closeSync, constants, openSync } from 'node:fs';
import { errorCode } from './error-code.ts';
import { Database } from './sqlite.ts';

/** An exclusive lock, taken until `release` or until the process ends in whatever way. */
export interface FileLock {
  release(): void;
}

/**
 * Takes the lock `file`, which is created when absent; undefined when another process, or this one, has it. The lock is
 * SQLite's on an empty database, and so the operating system's: it is freed when its owner dies, even by kill -9, and
 * is never taken from an owner that is only suspended. Only this user can open the file: another one who may read it
 * could hold a lock on it for ever. Throws system errors and what SQLite throws.
 */
export function tryLock(file: string): FileLock | undefined {
  closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
  const database = new Database(file, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (errorCode(error)?.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}
