import { constants } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../../error-code.ts';
import { hashFile } from '../../hash-file.ts';
import { readIfExists, sizeIfExists } from '../../if-missing.ts';
import { placeFolder } from '../../place-folder.ts';
import { flushPath, replaceFile } from '../../replace-file.ts';
import type { ManifestSigner } from '../signing/manifest-signer.ts';
import type { Manifest } from './bundle-store.ts';
import { StagedChanged } from './store-errors.ts';
import { parseManifest, toJson } from './store-json.ts';
import { bundleName, manifestName, signatureName } from './store-layout.ts';

/** The manifest in a version's folder; null unless the version is complete. */
export async function readVersionFolder(folder: string): Promise<Manifest | null> {
  const text = await readIfExists(join(folder, manifestName));
  if (text === null) return null;
  const manifest = parseManifest(text);
  return (await sizeIfExists(join(folder, bundleName(manifest)))) === manifest.archive.bytes ? manifest : null;
}

/**
 * Builds a version's folder at `building` and renames it to `folder`. Where another publisher was quicker, its folder
 * stays: the caller compares the contents. The archive is copied (a clone where the file system can) and hashed again
 * before anything is signed, because an earlier attempt that was presumed dead may still have the staged file open.
 */
export async function putVersionFolder(
  archive: string,
  manifest: Manifest,
  { building, folder }: { building: string; folder: string },
  signer: ManifestSigner | null,
): Promise<void> {
  try {
    await mkdir(building);
    const copy = join(building, bundleName(manifest));
    await copyFile(archive, copy, constants.COPYFILE_FICLONE).catch((error: unknown) => {
      throw errorCode(error) === 'ENOENT' ? new StagedChanged('the staged archive is gone') : error;
    });
    if ((await hashFile(copy)) !== manifest.archive.sha256) {
      throw new StagedChanged('the staged archive is not the one that was verified');
    }
    await flushPath(copy);
    const text = toJson(manifest);
    await replaceFile(join(building, manifestName), text);
    if (signer) await replaceFile(join(building, signatureName), await signer.sign(text, manifest));
    await mkdir(dirname(folder), { recursive: true });
    await placeFolder(building, folder);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
