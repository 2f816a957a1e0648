import { access, constants, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../error-code.ts';
import { type FileLock, tryLock } from '../file-lock.ts';
import { DatabaseInUse, DataFolderNotWritable } from './embedded-errors.ts';
import { describeProcess } from './process-identity.ts';
import { readRecord, type ServerRecord } from './server-record.ts';

/** Locks a database against every other docferry, making its folder. Throws `DatabaseInUse`, `DataFolderNotWritable`. */
export async function lockDatabase(dbFile: string): Promise<FileLock> {
  let lock: FileLock | undefined;
  try {
    await mkdir(dirname(dbFile), { recursive: true });
    lock = tryLock(`${dbFile}.lock`);
  } catch (error) {
    throw new DataFolderNotWritable(dirname(dbFile), error);
  }
  if (!lock) throw new DatabaseInUse(dbFile, (await readRecord(dbFile))?.owner);
  try {
    await access(dbFile, constants.W_OK);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') {
      lock.release();
      throw new DataFolderNotWritable(dbFile, error);
    }
  }
  return lock;
}

/** Like `lockDatabase`; a server that a killed docferry left counts as one that uses the database. */
export async function lockUnusedDatabase(dbFile: string): Promise<FileLock> {
  const lock = await lockDatabase(dbFile);
  const orphan = await orphanOf(dbFile);
  if (orphan === undefined) return lock;
  lock.release();
  throw new DatabaseInUse(dbFile, orphan.pid);
}

/** The record of a server that still runs on the database; undefined when there is none. */
export async function orphanOf(dbFile: string): Promise<ServerRecord | undefined> {
  const record = await readRecord(dbFile);
  if (record === undefined) return undefined;
  const running = await describeProcess(record.pid);
  // The process id alone proves nothing: another program may have it by now.
  return running?.startedAt === record.startedAt && running.command.includes(dbFile) ? record : undefined;
}
