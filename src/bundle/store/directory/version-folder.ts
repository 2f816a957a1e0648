import { constants } from 'node:fs';
import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncPath, writeDurably } from '../../files/durable-file.ts';
import { hashFile } from '../../files/hash-file.ts';
import { nothingThere, readIfThere } from '../../files/read-if-there.ts';
import type { Manifest } from '../bundle-store.ts';
import { StagedChanged } from '../store-errors.ts';
import { parseManifest, toJson } from '../store-files.ts';
import { bundleName, manifestName, signatureName } from '../store-layout.ts';

const taken = ['ENOTEMPTY', 'EEXIST'];

/** The manifest in a version's folder; null unless the version is there whole. */
export async function readVersionFolder(folder: string): Promise<Manifest | null> {
  const text = await readIfThere(join(folder, manifestName));
  if (text === null) return null;
  const manifest = parseManifest(text);
  const size = await stat(join(folder, bundleName(manifest))).then(
    (found) => found.size,
    nothingThere(() => -1),
  );
  return size === manifest.archive.bytes ? manifest : null;
}

/**
 * Builds a version's folder at `building` and renames it to `folder`; fine when that is taken, as two publishers
 * cannot mix there: the caller compares the contents. The archive is copied (a clone where the file system can) and
 * hashed again, since a downloader that was given up for dead may still hold the staged file open.
 */
export async function putVersionFolder(
  archive: string,
  manifest: Manifest,
  { building, folder, signature }: { building: string; folder: string; signature: string | null },
): Promise<void> {
  try {
    await mkdir(building);
    const copy = join(building, bundleName(manifest));
    await copyFile(archive, copy, constants.COPYFILE_FICLONE).catch(
      nothingThere(() => {
        throw new StagedChanged('the staged archive is gone');
      }),
    );
    if ((await hashFile(copy)) !== manifest.archive.sha256) {
      throw new StagedChanged('the staged archive is not the one that was verified');
    }
    await syncPath(copy);
    await writeDurably(join(building, manifestName), toJson(manifest));
    if (signature !== null) await writeDurably(join(building, signatureName), signature);
    await mkdir(dirname(folder), { recursive: true });
    await rename(building, folder).catch((error: NodeJS.ErrnoException) => {
      if (!taken.includes(error.code ?? '')) throw error;
    });
    await syncPath(dirname(folder));
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
