import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { SignedManifest } from '../exports/signing/check-signed-manifest.ts';
import { MinisignFormatError, type PublicKey, parsePublicKey } from '../exports/signing/minisign.ts';
import { manifestName } from '../exports/store/bundle-store.ts';
import { errorCode } from '../files.ts';
import { noSuchThing, usageFailure } from './context.ts';

/** The key that `--signature` names: the base64 line itself, or a file of `minisign -G`. */
export async function namedPublicKey(cwd: string, named: string): Promise<PublicKey> {
  const isLine = /^RW[Q-T][A-Za-z0-9+/]{53}$/.test(named.trim());
  const text = isLine ? named.trim() : await readIfThere(resolve(cwd, named));
  const hint = 'give the line that begins with RW, or the .pub file of `minisign -G`';
  if (text === null) {
    throw noSuchThing('NoSuchFile', '--signature names neither a public key nor a file', hint);
  }
  try {
    return parsePublicKey(text.toString());
  } catch (error) {
    if (!(error instanceof MinisignFormatError)) throw error;
    throw usageFailure(`--signature does not name a minisign public key: ${error.message}`, hint);
  }
}

/** The manifest beside an archive, or the named one, and the signature beside it. */
export async function signedManifestOf(
  cwd: string,
  archive: string,
  named: string | undefined,
): Promise<SignedManifest> {
  const file = named === undefined ? join(dirname(archive), manifestName) : resolve(cwd, named);
  const manifest = await readIfThere(file);
  if (manifest === null && named !== undefined) throw noSuchThing('NoSuchFile', `there is no file ${named}`);
  return { manifest, signature: (await readIfThere(`${file}.minisig`))?.toString() ?? null };
}

async function readIfThere(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === 'EISDIR' || code === 'EACCES') throw usageFailure(`${file} cannot be read (${code})`);
    throw error;
  }
}
