import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile } from '../../hash-file.ts';
import { operationFailure } from '../cli-failure.ts';
import { type BackupManifest, filesOfBackup } from './backup-manifest.ts';

/**
 * Reads every byte of a backup. Throws the failure `BackupDamaged` for the first file that differs from `backup.json`.
 */
export async function checkBackup(folder: string, manifest: BackupManifest, signal: AbortSignal): Promise<void> {
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
