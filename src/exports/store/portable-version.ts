import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { extract, type Header, type Pack, pack } from 'tar-stream';
import type { BundleStore, Manifest } from './bundle-store.ts';
import { bundleName, manifestName, signatureName, VersionDamaged, versionPath } from './bundle-store.ts';
import { contentOf, contradictions, manifestIn, provenManifest } from './manifests.ts';

/*
 * A file that carries a version from store to store: a tar of the version's own files at their paths in a store, the
 * manifest first, then its signature if there is one, then the archive.
 */

const longestManifest = 2 ** 28;
const longestSignature = 4096;

/** What comes before the archive. */
export interface CarriedManifest {
  manifest: Manifest;
  /** The manifest as it was signed. */
  bytes: Buffer;
  signature: string | null;
}

/** The tar of a version, piece by piece. Throws `NoSuchVersion`, and `VersionDamaged` if it is not as published. */
export async function* packVersion(
  store: Pick<BundleStore, 'manifest' | 'open' | 'verificationKeys'>,
  domain: string,
  version: string,
): AsyncGenerator<Uint8Array> {
  const manifest = await provenManifest(store, domain, version);
  const archive = await store.open(domain, version, bundleName(manifest));
  if (archive === null) throw new VersionDamaged(`its ${bundleName(manifest)} is missing`);
  const tar = pack();
  const add = async () => {
    for (const name of [manifestName, signatureName]) {
      const content = await contentOf(store, domain, version, name);
      if (content !== null) tar.entry({ name: `${versionPath(domain, version)}/${name}` }, content);
    }
    await addArchive(tar, `${versionPath(domain, version)}/${bundleName(manifest)}`, archive, manifest);
    tar.finalize();
  };
  const added = add().catch((error: unknown) => tar.destroy(error instanceof Error ? error : new Error('unknown')));
  try {
    yield* tar as AsyncIterable<Uint8Array>;
    await added;
  } finally {
    archive.destroy();
  }
}

async function addArchive(tar: Pack, name: string, archive: Readable, { archive: listed }: Manifest): Promise<void> {
  const differs = new VersionDamaged('its archive is not the one its manifest names: size or SHA-256 differ');
  const hash = createHash('sha256');
  let bytes = 0;
  // An error ends the tar, which reports it.
  const entry = tar.entry({ name, size: listed.bytes }).on('error', () => {});
  for await (const chunk of archive) {
    hash.update(chunk);
    bytes += chunk.length;
    if (bytes > listed.bytes) throw differs;
    if (!entry.write(chunk)) await new Promise<void>((resolve) => entry.once('drain', resolve));
  }
  if (bytes !== listed.bytes || hash.digest('hex') !== listed.sha256) throw differs;
  entry.end(null);
}

/**
 * Reads such a file. `accept` judges the manifest before the archive is read, and names the file for the archive, which
 * the caller still has to verify. Throws `VersionDamaged`, what `accept` throws, and system errors.
 */
export async function readCarriedVersion(
  file: string,
  accept: (carried: CarriedManifest) => Promise<string>,
  signal: AbortSignal,
): Promise<CarriedManifest> {
  const tar = extract();
  const source = createReadStream(file, { signal }).on('error', (error) => tar.destroy(error));
  source.pipe(tar);
  let carried: CarriedManifest | null = null;
  let isWhole = false;
  try {
    for await (const entry of tar) {
      const { header } = entry;
      const last = header.name.split('/').at(-1) ?? '';
      if (isWhole) throw foreign(`it has more than a version: ${last}`);
      if (carried === null) carried = manifestOf(header, await entryContent(entry, header, longestManifest));
      else if (header.name === pathIn(carried, signatureName)) {
        carried.signature = (await entryContent(entry, header, longestSignature)).toString();
      } else {
        if (header.name !== pathIn(carried, bundleName(carried.manifest)))
          throw foreign(`it has another file: ${last}`);
        if (header.size !== carried.manifest.archive.bytes)
          throw foreign('its archive is not as long as its manifest says');
        await writeTo(await accept(carried), entry);
        isWhole = true;
      }
    }
  } catch (error) {
    // tar-stream's own errors have no class and no code.
    const isBroken = error instanceof Error && error.name === 'Error' && !('code' in error);
    throw isBroken ? foreign('it is cut short or no tar') : error;
  } finally {
    source.destroy();
  }
  if (carried === null || !isWhole) throw foreign('it holds no whole version');
  return carried;
}

function manifestOf({ name }: Header, bytes: Buffer): CarriedManifest {
  const manifest = manifestIn(bytes.toString());
  if (manifest === null) throw foreign(`it does not begin with a ${manifestName}`);
  const wrong = contradictions(manifest.source.domain, manifest.version, manifest);
  const carried = { manifest, bytes, signature: null };
  if (wrong.length > 0) throw foreign(wrong.join('; '));
  if (name !== pathIn(carried, manifestName)) throw foreign('its manifest is of another version than its names say');
  return carried;
}

function pathIn({ manifest: { source, version } }: CarriedManifest, name: string): string {
  return `${versionPath(source.domain, version)}/${name}`;
}

async function entryContent(entry: AsyncIterable<unknown>, { size, type }: Header, longest: number): Promise<Buffer> {
  if (type !== 'file' || size > longest) throw foreign('it is not what `export save` writes');
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function writeTo(file: string, content: AsyncIterable<unknown>): Promise<void> {
  // The published archive gets this file's mode, and web servers read it.
  const handle = await open(file, 'w');
  try {
    for await (const chunk of content as AsyncIterable<Uint8Array>) await handle.writeFile(chunk);
  } finally {
    await handle.close();
  }
}

function foreign(why: string): VersionDamaged {
  return new VersionDamaged(`this is no whole file of \`export save\`: ${why}`);
}
