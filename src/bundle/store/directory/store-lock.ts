import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { StoreBusy } from '../store-errors.ts';

const waitMs = 10_000;
const stepMs = 10;

/**
 * Runs `change` while no other process and no one else in this one holds the lock `file`. The lock is SQLite's on an
 * empty database, that is the operating system's: it goes with its holder, however that dies, and is never stolen from
 * one that is only stopped; a lock file of our own could promise only one of the two. `change` is synchronous, so that
 * it is held for a moment only. Throws `StoreBusy` after 10 s.
 */
export async function withStoreLock<T>(file: string, change: () => T): Promise<T> {
  const database = new Database(file, { timeout: 0 });
  try {
    await begin(database);
    return change();
  } finally {
    database.close();
  }
}

async function begin(database: Database.Database): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      database.exec('BEGIN EXCLUSIVE');
      return;
    } catch (error) {
      if (!(error instanceof Database.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error;
      if (performance.now() > deadline) throw new StoreBusy('the bundle store is locked by another process');
    }
    await sleep(stepMs);
  }
}
