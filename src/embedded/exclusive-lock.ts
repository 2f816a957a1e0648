import Database from 'better-sqlite3';
import { errorCode } from './embedded-errors.ts';

/** A lock that is held until `release`, or until the process ends in whatever way. */
export interface ExclusiveLock {
  release(): void;
}

/**
 * Takes the lock `file` (created when absent), or returns undefined when someone holds it, in this process or another.
 * An exclusive SQLite transaction carries it, so the kernel frees it after a kill -9 and it can never go stale.
 * Throws what SQLite throws when the file cannot be created.
 */
export function tryLock(file: string): ExclusiveLock | undefined {
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
