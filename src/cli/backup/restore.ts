import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hashFile } from '../../files.ts';
import { lockUnusedDatabase } from '../../local/server-record.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes, operationFailure } from '../failure.ts';
import { interruptible } from '../terminal/prompts.ts';
import { factLines } from '../terminal/text.ts';
import {
  type Restored,
  type RestoredPlaces,
  requireFreePlaces,
  restoredPlaces,
  restoreParts,
} from './restore-parts.ts';
import { type BackupManifest, filesOfBackup, missingParts, readBackupManifest } from './take-backup.ts';

export default {
  restore: (command, run) =>
    command
      .argument('<folder>', 'folder that `docferry backup` made')
      .option('--db <file>', "Temporal's database", './data/temporal.db')
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

interface RestoreFlags {
  db: string;
  force?: boolean;
}

async function restore(context: CommandContext, from: string, flags: RestoreFlags): Promise<ExitCode> {
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
