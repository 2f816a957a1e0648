import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseInUse } from '../../local/embedded-errors.ts';
import { tryLock } from '../../file-lock.ts';
import { usageFailure } from '../cli-failure.ts';

/** Marks a folder whose contents may be deleted. */
const marker = '.docferry-demo';
const databaseFile = 'temporal.db';
/** With these a demo finds the server of a killed demo, or notices a demo that is still running. */
const serverFiles: ReadonlySet<string> = new Set([`${databaseFile}.lock`, `${databaseFile}.server.json`]);

export interface DemoFolder {
  folder: string;
  /** Temporal's database. */
  dbFile: string;
  configFile: string;
}

/**
 * Creates the demo's folder, without what an earlier demo left in it. Throws a usage failure when the folder is not a
 * demo's, `DatabaseInUse` when a demo is still running in it.
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
  const lock = tryLock(`${dbFile}.lock`);
  if (!lock) throw new DatabaseInUse(dbFile, undefined);
  lock.release();
}
