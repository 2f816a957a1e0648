import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { endBudgets } from '../../budget/client.ts';
import type { Config } from '../../config/config.ts';
import { succeedDirectoryStore } from '../../exports/store/directory-snapshot.ts';
import { openAlone } from '../../feedback/store/copy-database.ts';
import { succeedSqliteStore } from '../../feedback/store/sqlite-store.ts';
import { copyDurably, flushPath, hashFile, ifMissing, isThere } from '../../files.ts';
import { devServerTool, resolveBinary } from '../../local/binaries.ts';
import { startDevServer } from '../../local/dev-server.ts';
import { findFreePort } from '../../local/ports.ts';
import { lockUnusedDatabase } from '../../local/server-record.ts';
import { searchAttributes } from '../../rules/workflow-ids.ts';
import { connectClient } from '../../temporal/connection.ts';
import {
  type CommandContext,
  type CommandFile,
  loadContextConfig,
  operationFailure,
  usageFailure,
} from '../context.ts';
import { interruptible } from '../terminal/prompts.ts';
import { factLines } from '../terminal/text.ts';
import { type BackedUpFile, type BackupManifest, filesOfBackup, missingParts, readBackupManifest } from './backup.ts';

export default {
  restore: (command, run) =>
    command
      .argument('<folder>', 'folder that `docferry backup` made')
      .option('--db <file>', "Temporal's database, relative to the current folder", './data/temporal.db')
      .option('--force', 'rename what is already at these places')
      .action(run(restore)),
} satisfies CommandFile;

/**
 * Reads every byte of a backup. Throws the failure `BackupDamaged` for the first file that differs from `backup.json`.
 */
async function checkBackup(folder: string, manifest: BackupManifest, signal: AbortSignal): Promise<void> {
  for (const { path, bytes, sha256 } of filesOfBackup(manifest)) {
    signal.throwIfAborted();
    const file = join(folder, path);
    const found = await stat(file).catch(() => null);
    if (found === null) throw damaged(`${file} is missing`);
    if (found.size !== bytes) throw damaged(`${file} has ${found.size} bytes instead of ${bytes}`);
    if ((await hashFile(file)) !== sha256) throw damaged(`${file} has other content than was backed up`);
  }
}

function damaged(problem: string) {
  return operationFailure(
    'BackupDamaged',
    problem,
    'restore another backup, or copy this one again; nothing was written',
  );
}

async function restore(context: CommandContext, from: string, flags: { db: string; force?: boolean }): Promise<void> {
  const { output, cwd } = context;
  const folder = resolve(cwd, from);
  const backup = await readBackupManifest(folder);
  const config = await loadContextConfig(context);
  const temporalFile = resolve(cwd, flags.db);
  const places = restoredPlaces(config, temporalFile, backup);
  const lock = await lockUnusedDatabase(temporalFile);
  try {
    await requireFreePlaces(places, flags.force === true);
    output.note('checking every file of the backup …');
    const restored = await interruptible('nothing was restored', async (signal) => {
      await checkBackup(folder, backup, signal);
      return restoreParts({ context, config, folder, backup, places, signal });
    });
    for (const { what, missing } of missingParts(backup)) output.warn(`${what} not in the backup: ${missing}`);
    const document = { from: folder, takenAt: backup.takenAt, places, ...restored, missing: missingParts(backup) };
    output.result(document, textOf(folder, backup.takenAt, places, restored));
  } finally {
    lock.release();
  }
}

function textOf(folder: string, takenAt: string, places: RestoredPlaces, { budgets, aside }: Restored): string {
  const { temporal, feedback, bundles } = places;
  const parts = Object.entries({ Temporal: temporal, feedback, bundles });
  const facts = parts.flatMap(([what, place]): [string, string][] => (place === null ? [] : [[what, place]]));
  if (budgets.length > 0) facts.push(['budgets', `${budgets.join(', ')}: nothing is sent until one window from now`]);
  if (aside.length > 0) facts.push(['set aside', aside.join(', ')]);
  return `restored ${folder}, taken ${takenAt}\n${factLines(facts)}\nnever start the original again: it would send beside this one`;
}

/** Something finished, and where it goes. */
interface Finished {
  from: string;
  to: string;
}

/** What SQLite keeps beside a database. It would apply them to the restored one, which has the same name. */
const companions = ['-journal', '-wal', '-shm'];

/** Renames all into place, or nothing, and what was there to `<name>.before-<moment>`; returns those names. */
async function putInPlace(all: readonly Finished[], at: Date): Promise<string[]> {
  const suffix = `.before-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  const done: Finished[] = [];
  const aside: string[] = [];
  const move = async (from: string, to: string) => {
    await rename(from, to);
    done.push({ from, to });
  };
  try {
    for (const { from, to } of all) {
      await mkdir(dirname(to), { recursive: true });
      for (const name of ['', ...companions].map((end) => to + end)) {
        if (!(await isThere(name))) continue;
        await move(name, name + suffix);
        aside.push(name + suffix);
      }
      await move(from, to);
      await flushPath(dirname(to));
    }
    return aside;
  } catch (error) {
    for (const { from, to } of done.reverse()) await rename(to, from);
    throw error;
  }
}

/** Where the parts of a backup go; null for a part that it does not hold. Absolute paths. */
interface RestoredPlaces {
  temporal: string | null;
  feedback: string | null;
  bundles: string | null;
}

/** The places that the configuration names. Throws a usage failure when they are not of the kind that was backed up. */
function restoredPlaces({ store }: Config, temporalFile: string, backup: BackupManifest): RestoredPlaces {
  const { feedback, bundles } = store;
  if ('file' in backup.feedback && feedback.kind === 'postgres') {
    throw usageFailure(
      'the backup holds a SQLite feedback store, and store.feedback names PostgreSQL',
      'restore into sqlite:FILE, then move it with `docferry feedback move`',
    );
  }
  if ('files' in backup.bundles && bundles.kind === 's3') {
    throw usageFailure(
      'the backup holds a bundle store in a folder, and store.bundles names a bucket',
      'restore into store.bundles.directory; a bucket has its own replication',
    );
  }
  return {
    temporal: 'file' in backup.temporal ? temporalFile : null,
    feedback: 'file' in backup.feedback && feedback.kind === 'sqlite' ? feedback.file : null,
    bundles: 'files' in backup.bundles && bundles.kind === 'directory' ? bundles.directory : null,
  };
}

/** Throws unless nothing is at the places or, with `force`, nothing uses it. */
async function requireFreePlaces(places: RestoredPlaces, force: boolean): Promise<void> {
  const taken: string[] = [];
  for (const file of [places.temporal, places.feedback]) if (file !== null && (await isThere(file))) taken.push(file);
  if (places.bundles !== null && !(await isEmptyFolder(places.bundles))) taken.push(places.bundles);
  if (taken.length > 0 && !force) {
    const what = `${taken.join(', ')} ${taken.length === 1 ? 'is' : 'are'} there already`;
    throw operationFailure('PlaceTaken', what, 'restore into an empty folder, or set what is there aside with --force');
  }
  if (places.feedback === null || !taken.includes(places.feedback)) return;
  const alone = openAlone(places.feedback);
  if (alone === undefined) {
    const hint = 'stop `docferry up` and every `docferry worker` first';
    throw operationFailure('DatabaseInUse', `${places.feedback} is in use by another process`, hint);
  }
  alone.close();
}

/** Also of a folder that is not there; what cannot be read may hold something. */
const isEmptyFolder = (path: string): Promise<boolean> =>
  readdir(path)
    .catch(ifMissing([]))
    .then(
      (names) => names.length === 0,
      () => false,
    );

interface Restored {
  /** Organizations whose budgets start full (B7). */
  budgets: string[];
  /** What was in the way, under its new name. */
  aside: string[];
}

interface Restoration {
  context: CommandContext;
  config: Config;
  folder: string;
  backup: BackupManifest;
  places: RestoredPlaces;
  signal: AbortSignal;
}

/** Builds every part beside its place, as the successor of the original, and puts all of them in place at the end. */
async function restoreParts(restoration: Restoration): Promise<Restored> {
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

/** The backup's ledgers lack what was sent since. They end here, where no worker can grant anything. */
async function endRestoredBudgets({ context, config }: Restoration, dbFile: string): Promise<string[]> {
  const { output, env } = context;
  const { path } = await resolveBinary(devServerTool, { env, onProgress: (line) => output.note(line) });
  const { namespace } = config.temporal;
  const server = await startDevServer({
    binary: path,
    port: await findFreePort(),
    dbFile,
    namespace,
    searchAttributes: Object.values(searchAttributes),
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
