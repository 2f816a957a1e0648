import { resolve } from 'node:path';
import { lockUnusedDatabase } from '../../local/lock-database.ts';
import { readBackupManifest } from './backup-manifest.ts';
import { checkBackup } from './check-backup.ts';
import { missingParts } from './missing-parts.ts';
import { type Restored, restoreParts } from './restore-parts.ts';
import { type RestoredPlaces, requireFreePlaces, restoredPlaces } from './restored-places.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { interruptible } from '../terminal/interruptible.ts';
import { factLines } from '../terminal/text.ts';

interface RestoreFlags {
  db: string;
  force?: boolean;
}

export default async function restore(context: CommandContext, from: string, flags: RestoreFlags): Promise<ExitCode> {
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
    return exitCodes.done;
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
