import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode, ifMissing, placeFolder, tempName } from '../../files.ts';
import { counted, sizeText } from '../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes, operationFailure, usageFailure } from '../failure.ts';
import { interruptible } from '../terminal/prompts.ts';
import { factLines } from '../terminal/text.ts';
import { type BackupManifest, filesOfBackup, missingParts, takeBackup } from './take-backup.ts';

export default {
  backup: (command, run) =>
    command
      .requiredOption('--out <folder>', 'folder to create; it appears once the backup is complete')
      .option('--db <file>', "Temporal's database", './data/temporal.db')
      .action(run(backUp)),
} satisfies CommandFile;

interface BackupFlags {
  out: string;
  db: string;
}

async function backUp(context: CommandContext, flags: BackupFlags): Promise<ExitCode> {
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
    return exitCodes.done;
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
