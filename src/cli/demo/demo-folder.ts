import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { usageFailure } from '../failures/cli-failure.ts';

/** Says that the folder's contents may be thrown away. */
const marker = '.docferry-demo';
const databaseFile = 'temporal.db';
/** By these a server that a killed demo left is found and ended, and a demo that still runs is noticed. */
const serverFiles: ReadonlySet<string> = new Set([`${databaseFile}.lock`, `${databaseFile}.server.json`]);

export interface DemoFolder {
  folder: string;
  /** Temporal's database. */
  dbFile: string;
  configFile: string;
}

/**
 * Makes the demo's folder anew; what an earlier demo left in it is removed. Throws a usage failure when the folder is
 * somebody else's, `DatabaseInUse` when a demo still runs in it.
 */
export async function prepareDemoFolder(folder: string): Promise<DemoFolder> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  if (names.length > 0 && !names.includes(marker)) {
    throw usageFailure(`${folder} was not made by docferry demo`, 'run the demo in another folder');
  }
  const dbFile = join(folder, databaseFile);
  await requireUnused(dbFile);
  const old = names.filter((name) => name !== marker && !serverFiles.has(name));
  await Promise.all(old.map((name) => rm(join(folder, name), { recursive: true })));
  await writeFile(join(folder, marker), 'docferry demo removes everything in this folder when it starts\n');
  return { folder, dbFile, configFile: join(folder, 'docferry.yaml') };
}

async function requireUnused(dbFile: string): Promise<void> {
  const { DatabaseInUse } = await import('../../embedded/embedded-errors.ts');
  const { tryLock } = await import('../../files/file-lock.ts');
  const lock = tryLock(`${dbFile}.lock`);
  if (!lock) throw new DatabaseInUse(dbFile, undefined);
  lock.release();
}
