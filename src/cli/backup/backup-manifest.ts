import { join } from 'node:path';
import { z } from 'zod';
import { readIfExists } from '../../if-missing.ts';
import { noSuchThing, operationFailure } from '../cli-failure.ts';

export const manifestFile = 'backup.json';

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

export const manifestFormat: BackupManifest['format'] = format;

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
