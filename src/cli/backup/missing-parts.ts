import type { BackupManifest } from './backup-manifest.ts';

/** Parts that a backup does not hold, and why. */
export function missingParts({ temporal, feedback, bundles }: BackupManifest): { what: string; missing: string }[] {
  return Object.entries({ Temporal: temporal, feedback, bundles }).flatMap(([what, part]) =>
    'missing' in part ? [{ what, missing: part.missing }] : [],
  );
}
