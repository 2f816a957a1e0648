import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { copyStaged, snapshotStore } from '../../exports/store/store-snapshot.ts';
import type { Config } from '../../config/config.ts';
import { copyDatabase } from '../../feedback/store/copy-database.ts';
import { linkOrCopy } from '../../copy-file.ts';
import { filesBelow } from '../../files-below.ts';
import { hashFile } from '../../hash-file.ts';
import { replaceFile } from '../../replace-file.ts';
import { isThere } from '../doctor/writable.ts';
import { bundlePlace } from '../bundle-place.ts';
import { withFeedbackStore } from '../feedback-store-of.ts';
import { packageVersion } from '../package-file.ts';
import { type BackedUpFile, type BackupManifest, manifestFile, manifestFormat } from './backup-manifest.ts';

const bundlesFolder = 'bundles';

interface BackupWork {
  signal: AbortSignal;
  /** Called before each part, for people. */
  onPart: (part: string) => void;
}

/**
 * Fills an empty folder with a backup while everything runs. Temporal comes before the stores: what its workflows know
 * is then in them too, and a run that continues after a restoration finds everything it left.
 */
export async function takeBackup(
  config: Config,
  temporalFile: string,
  folder: string,
  { signal, onPart }: BackupWork,
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
  const manifest = {
    format: manifestFormat,
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
    return { missing: `there is no ${file}: a Temporal of your own is backed up with its own database` };
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
