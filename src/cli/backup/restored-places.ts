import { readdir } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { openAlone } from '../../feedback/store/copy-database.ts';
import { isThere } from '../doctor/writable.ts';
import { operationFailure, usageFailure } from '../cli-failure.ts';
import type { BackupManifest } from './backup-manifest.ts';

/** Where the parts of a backup go; null for a part that it does not hold. Absolute paths. */
export interface RestoredPlaces {
  temporal: string | null;
  feedback: string | null;
  bundles: string | null;
}

/** The places that the configuration names. Throws a usage failure when they are not of the kind that was backed up. */
export function restoredPlaces({ store }: Config, temporalFile: string, backup: BackupManifest): RestoredPlaces {
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
export async function requireFreePlaces(places: RestoredPlaces, force: boolean): Promise<void> {
  const taken: string[] = [];
  for (const file of [places.temporal, places.feedback]) if (file !== null && (await isThere(file))) taken.push(file);
  if (places.bundles !== null && (await holdsSomething(places.bundles))) taken.push(places.bundles);
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

async function holdsSomething(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.length > 0;
}
