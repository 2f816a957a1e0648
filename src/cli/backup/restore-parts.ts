import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { succeedDirectoryStore } from '../../bundle/store/directory/store-snapshot.ts';
import { endBudgets } from '../../client/budgets/end-budgets.ts';
import { connectClient } from '../../client/temporal-connection.ts';
import type { Config } from '../../config/config.ts';
import { devServerTool, resolveBinary } from '../../embedded/binaries.ts';
import { startDevServer } from '../../embedded/dev-server.ts';
import { findFreePort } from '../../embedded/ports.ts';
import { succeedSqliteStore } from '../../feedback/sqlite-store.ts';
import { openAlone } from '../../files/copy-database.ts';
import { copyDurably } from '../../files/copy-file.ts';
import { searchAttributes } from '../../model/workflow-ids.ts';
import type { CommandContext } from '../context.ts';
import { operationFailure } from '../failures/cli-failure.ts';
import type { BackedUpFile, BackupManifest } from './backup-manifest.ts';
import { type Finished, putInPlace } from './put-in-place.ts';
import type { RestoredPlaces } from './restored-places.ts';

export interface Restored {
  /** Organizations whose budgets start full (B7). */
  budgets: string[];
  /** What was in the way, under its new name. */
  aside: string[];
}

interface Restoration {
  context: CommandContext;
  config: Config;
  /** The backup's folder. */
  folder: string;
  backup: BackupManifest;
  places: RestoredPlaces;
  signal: AbortSignal;
}

/** Builds every part beside its place, as the successor of the original, and puts all of them in place at the end. */
export async function restoreParts(restoration: Restoration): Promise<Restored> {
  const { folder, backup, places, signal } = restoration;
  const working: string[] = [];
  const workFolder = async (place: string) => {
    await mkdir(dirname(place), { recursive: true });
    const made = await mkdtemp(join(dirname(place), '.restore-'));
    working.push(made);
    return made;
  };
  try {
    const finished: Finished[] = [];
    const at = new Date();
    if ('files' in backup.bundles && places.bundles !== null) {
      const copy = join(await workFolder(places.bundles), 'bundles');
      await copyFiles(restoration, backup.bundles.files, copy);
      await succeedDirectoryStore(copy);
      finished.push({ from: copy, to: places.bundles });
    }
    signal.throwIfAborted();
    if ('file' in backup.feedback && places.feedback !== null) {
      const copy = join(await workFolder(places.feedback), 'feedback.db');
      await copyDurably(join(folder, backup.feedback.file.path), copy);
      await succeedSqliteStore(copy, 'restored', at);
      closeLog(copy);
      finished.push({ from: copy, to: places.feedback });
    }
    signal.throwIfAborted();
    let budgets: string[] = [];
    if ('file' in backup.temporal && places.temporal !== null) {
      const copy = join(await workFolder(places.temporal), 'temporal.db');
      await copyDurably(join(folder, backup.temporal.file.path), copy);
      budgets = await endRestoredBudgets(restoration, copy);
      closeLog(copy);
      finished.push({ from: copy, to: places.temporal });
    }
    signal.throwIfAborted();
    return { budgets, aside: await putInPlace(finished, at) };
  } finally {
    for (const made of working) await rm(made, { recursive: true, force: true });
  }
}

async function copyFiles({ folder, signal }: Restoration, files: readonly BackedUpFile[], to: string): Promise<void> {
  for (const { path } of files) {
    signal.throwIfAborted();
    await copyDurably(join(folder, path), join(to, relative('bundles', path)));
  }
}

/** Leaves a database as one file, so that a rename takes all of it. */
function closeLog(file: string): void {
  const alone = openAlone(file);
  if (alone === undefined) throw operationFailure('DatabaseInUse', `${file} is in use by another process`, 'try again');
  alone.close();
}

/**
 * The backup's ledgers do not know what was sent since. They end here, on a server without workers, so that they cannot
 * grant anything.
 */
async function endRestoredBudgets({ context, config }: Restoration, dbFile: string): Promise<string[]> {
  const { output, env } = context;
  const { path } = await resolveBinary(devServerTool, { env, onProgress: (line) => output.note(line) });
  const { namespace } = config.temporal;
  const server = await startDevServer({
    binary: path,
    port: await findFreePort(),
    dbFile,
    namespace,
    searchAttributes: Object.fromEntries(Object.values(searchAttributes).map((name) => [name, 'Keyword'])),
    logFile: join(dirname(dbFile), 'temporal.log'),
  });
  try {
    const client = await connectClient({ ...config.temporal, address: server.address, embedded: true });
    try {
      const orgs = config.organizations.map(({ id }) => id);
      return await endBudgets(client, orgs, 'restored from a backup: the ledger does not know what was sent since');
    } finally {
      await client.connection.close();
    }
  } finally {
    await server.stop();
  }
}
