import { open } from 'node:fs/promises';
import { errorCode, flushPath } from '../../files.ts';
import { Database, SqliteError } from '../../sqlite.ts';

/**
 * Copies a SQLite database at one moment, while other processes write to it, into one new file that only this user can
 * read, and checks the copy. Throws what SQLite and the file system throw, and an error of code `SQLITE_CORRUPT` for a damaged database.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  await (await open(to, 'wx', 0o600)).close();
  const source = new Database(from, { readOnly: true });
  try {
    await source.backup(to);
  } finally {
    source.close();
  }
  const copy = new Database(to);
  try {
    // One file with everything in it, instead of one with a log beside it.
    copy.pragma('journal_mode = DELETE');
    const problems = copy.pragma('quick_check(1)');
    if (problems !== 'ok') throw new SqliteError(`${from} is damaged: ${String(problems)}`, 'SQLITE_CORRUPT');
  } finally {
    copy.close();
  }
  await flushPath(to);
}

/**
 * Opens a SQLite database that no other process has open, writes its log into the file, and keeps others out until it is
 * closed; undefined when another process has it open. Throws what SQLite throws.
 */
export function openAlone(file: string): Database | undefined {
  const database = new Database(file, { timeout: 0, mustExist: true });
  try {
    // Succeeds only for the one connection that has the database open.
    if (database.pragma('journal_mode = DELETE') === 'delete') {
      database.exec('BEGIN EXCLUSIVE');
      return database;
    }
  } catch (error) {
    database.close();
    if (errorCode(error)?.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
  database.close();
  return undefined;
}
