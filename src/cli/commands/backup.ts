import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { copyStaged, snapshotStore } from '../../exports/store/directory-snapshot.ts';
import { copyDatabase } from '../../feedback/store/copy-database.ts';
import {
  errorCode,
  filesBelow,
  hashFile,
  ifMissing,
  isThere,
  linkOrCopy,
  placeFolder,
  readIfExists,
  replaceFile,
  tempName,
} from '../../files.ts';
import { counted, sizeText } from '../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  loadContextConfig,
  noSuchThing,
  operationFailure,
  usageFailure,
} from '../context.ts';
import { bundlePlace, withFeedbackStore } from '../operator.ts';
import { packageVersion } from '../package-file.ts';
import { interruptible } from '../terminal/prompts.ts';
import { factLines } from '../terminal/text.ts';

export default {
  backup: (command, run) =>
    command
      .requiredOption('--out <folder>', 'folder to create; it appears once the backup is complete')
      .option('--db <file>', "Temporal's database, relative to the current folder", './data/temporal.db')
      .action(run(backUp)),
} satisfies CommandFile;

async function backUp(context: CommandContext, flags: { out: string; db: string }): Promise<void> {
  const { output, cwd } = context;
  const config = await loadContextConfig(context);
  const out = resolve(cwd, flags.out);
  await requireUnused(out);
  // It appears whole or not at all.
  const building = tempName(out);
  try {
    await mkdir(dirname(out), { recursive: true });
    await mkdir(building, { mode: 0o700 });
    const manifest = await interruptible('nothing was kept', (signal) =>
      takeBackup(config, resolve(cwd, flags.db), building, {
        signal,
        onPart: (part) => output.note(`copying ${part} …`),
      }),
    );
    await placeFolder(building, out);
    for (const { what, missing } of missingParts(manifest)) output.warn(`${what} not included: ${missing}`);
    output.result(documentOf(out, manifest), textOf(out, manifest));
  } catch (error) {
    throw errorCode(error)?.startsWith('SQLITE_') ? sqliteFailure(error) : error;
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

async function requireUnused(out: string): Promise<void> {
  const found = await readdir(out)
    .catch(ifMissing([]))
    .catch(() => ['not a folder']);
  if (found.length > 0)
    throw usageFailure(`--out names ${out}, which is not empty`, 'name a folder that does not exist');
}

function sqliteFailure(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  const hint = 'check the disk and its free space; nothing half-written was kept';
  return operationFailure('BackupFailed', `a database could not be copied (${errorCode(error)}): ${message}`, hint);
}

function documentOf(out: string, manifest: BackupManifest): object {
  const files = filesOfBackup(manifest);
  const { bundles, ...rest } = manifest;
  const held =
    'files' in bundles
      ? { takenAt: bundles.takenAt, identity: bundles.identity, files: bundles.files.length }
      : bundles;
  return { out, ...rest, bundles: held, files: files.length, bytes: bytesOf(files) };
}

function textOf(out: string, manifest: BackupManifest): string {
  const { temporal, feedback, bundles } = manifest;
  const facts: [string, string][] = [];
  for (const [what, part] of Object.entries({ Temporal: temporal, feedback })) {
    if ('file' in part) facts.push([what, `${sizeText(part.file.bytes)}, as of ${part.takenAt}`]);
  }
  if ('files' in bundles) {
    const { files, takenAt } = bundles;
    facts.push(['bundles', `${counted(files.length, 'file')}, ${sizeText(bytesOf(files))}, as of ${takenAt}`]);
  }
  return `${out}\n${factLines(facts)}`.trimEnd();
}

function bytesOf(files: readonly { bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

const manifestFile = 'backup.json';

/** Grows with every change that an older docferry would misread. */
const format = 1;

const file = z.object({
  path: z.string().regex(/^(?!.*(^|\/)\.\.(\/|$))[^/]/),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
const missing = z.object({ missing: z.string() });
const database = z.object({ takenAt: z.iso.datetime(), file });
const manifestSchema = z.object({
  format: z.literal(format),
  /** Version of docferry that made it. */
  docferry: z.string(),
  takenAt: z.iso.datetime(),
  temporal: z.union([database, missing]),
  feedback: z.union([database.extend({ identity: z.string() }), missing]),
  bundles: z.union([z.object({ takenAt: z.iso.datetime(), identity: z.string(), files: z.array(file) }), missing]),
});

/** A file of a backup, relative to its folder, with slashes. */
export type BackedUpFile = z.infer<typeof file>;

/** `backup.json`: what a backup holds, and for each part that it does not hold how that is backed up (backup.md). */
export type BackupManifest = z.infer<typeof manifestSchema>;

/** The manifest of a backup. Throws failures of the command line. */
export async function readBackupManifest(folder: string): Promise<BackupManifest> {
  const text = await readIfExists(join(folder, manifestFile)).catch(() => null);
  if (text === null) {
    throw noSuchThing(
      'NoBackup',
      `${folder} is no backup: it has no ${manifestFile}`,
      'name a folder of `docferry backup`',
    );
  }
  const content = parsed(text);
  const newer = z.object({ format: z.int().min(format + 1), docferry: z.string() }).safeParse(content);
  if (newer.success) {
    const made = `${folder} was made by a newer docferry (${newer.data.docferry})`;
    throw operationFailure('BackupNewer', made, 'restore it with that version or a later one');
  }
  const manifest = manifestSchema.safeParse(content);
  if (manifest.success) return manifest.data;
  throw operationFailure('BackupDamaged', `${join(folder, manifestFile)} cannot be read`, 'restore another backup');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Every file of a backup but its manifest. */
export function filesOfBackup({ temporal, feedback, bundles }: BackupManifest): BackedUpFile[] {
  const databases = [temporal, feedback].flatMap((part) => ('file' in part ? [part.file] : []));
  return [...databases, ...('files' in bundles ? bundles.files : [])];
}

const bundlesFolder = 'bundles';

/**
 * Fills an empty folder with a backup while everything runs. Temporal comes before the stores: what its workflows know
 * is then in them too, and a run that continues after a restoration finds everything it left.
 */
async function takeBackup(
  config: Config,
  temporalFile: string,
  folder: string,
  { signal, onPart }: { signal: AbortSignal; onPart: (part: string) => void },
): Promise<BackupManifest> {
  const takenAt = now();
  const { bundles } = config.store;
  if (bundles.kind === 'directory') await copyStaged(bundles.directory, join(folder, bundlesFolder));
  onPart('Temporal');
  const temporal = await backUpTemporal(temporalFile, folder);
  signal.throwIfAborted();
  onPart('feedback');
  const feedback = await backUpFeedback(config, folder);
  signal.throwIfAborted();
  onPart('bundles');
  const published = await backUpBundles(config, folder, signal);
  const manifest: BackupManifest = {
    format,
    docferry: packageVersion(),
    takenAt,
    temporal,
    feedback,
    bundles: published,
  };
  await replaceFile(join(folder, manifestFile), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return manifest;
}

async function backUpTemporal(file: string, folder: string): Promise<BackupManifest['temporal']> {
  if (!(await isThere(file))) {
    const otherwise = 'a Temporal of your own is backed up with its own database';
    return {
      missing: `there is no ${file}: back up where \`docferry up\` runs, or name its database with --db; ${otherwise}`,
    };
  }
  return databaseCopy(file, folder, 'temporal.db');
}

async function backUpFeedback(config: Config, folder: string): Promise<BackupManifest['feedback']> {
  const { feedback } = config.store;
  if (feedback.kind === 'postgres') return { missing: `${feedback.place} is backed up with pg_dump` };
  if (!(await isThere(feedback.file))) return { missing: `there is no ${feedback.file} yet` };
  const identity = await withFeedbackStore(config, async (store) => store.identity);
  return { ...(await databaseCopy(feedback.file, folder, 'feedback.db')), identity };
}

async function databaseCopy(from: string, folder: string, name: string) {
  const takenAt = now();
  await copyDatabase(from, join(folder, name));
  return { takenAt, file: await describeFile(folder, name) };
}

async function backUpBundles(
  { store }: Config,
  folder: string,
  signal: AbortSignal,
): Promise<BackupManifest['bundles']> {
  const { bundles } = store;
  if (bundles.kind === 's3') {
    return { missing: `${bundlePlace(bundles)} is backed up by replicating or versioning the bucket` };
  }
  const takenAt = now();
  const snapshot = await snapshotStore(bundles.directory);
  if (snapshot === null) return { missing: `nothing was published in ${bundles.directory} yet` };
  const to = join(folder, bundlesFolder);
  try {
    await mkdir(to, { recursive: true, mode: 0o700 });
    for (const path of await filesBelow(snapshot.folder)) await linkOrCopy(join(snapshot.folder, path), join(to, path));
  } finally {
    await snapshot.remove();
  }
  const files: BackedUpFile[] = [];
  for (const path of await filesBelow(to)) {
    signal.throwIfAborted();
    files.push(await describeFile(folder, `${bundlesFolder}/${path}`));
  }
  return { takenAt, identity: snapshot.identity, files };
}

async function describeFile(folder: string, path: string): Promise<BackedUpFile> {
  const file = join(folder, path);
  return { path, bytes: (await stat(file)).size, sha256: await hashFile(file) };
}

const now = () => new Date().toISOString();

/** Parts that a backup does not hold, and why. */
export function missingParts({ temporal, feedback, bundles }: BackupManifest): { what: string; missing: string }[] {
  return Object.entries({ Temporal: temporal, feedback, bundles }).flatMap(([what, part]) =>
    'missing' in part ? [{ what, missing: part.missing }] : [],
  );
}
