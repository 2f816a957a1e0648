import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { contentTypes } from '../server/published-files.ts';
import { type Manifest, NoSuchVersion, type Work } from './bundle-store.ts';
import { requireSameContent } from './require-same-content.ts';
import { StagedChanged, VersionDamaged } from './store-errors.ts';
import { bundleName, versionPath } from './store-layout.ts';
import { readS3Object } from './read-s3-object.ts';
import type { S3Bucket, S3Headers } from './s3-bucket.ts';
import { copyIfAbsent } from './s3-multipart.ts';

/** Headers of objects that never change. */
export const immutable = (ContentType: string): S3Headers => ({
  ContentType,
  CacheControl: 'public, max-age=31536000, immutable',
});

/** Path of a version's archive. */
export function archivePath(manifest: Manifest): string {
  return `${versionPath(manifest.source.domain, manifest.version)}/${bundleName(manifest)}`;
}

/**
 * Copies a staged archive to its version's place, unless it is there already, and then hashes what is there: the object
 * store makes the copy itself and does not know what was verified. Throws `StagedChanged`, `VersionConflict` and what
 * `S3Bucket` throws.
 */
export async function putArchive(bucket: S3Bucket, from: string, manifest: Manifest, work: Work): Promise<void> {
  const { sha256, bytes, format } = manifest.archive;
  const staged = await bucket.stat(from);
  if (staged === null) throw new StagedChanged('the staged archive is gone');
  const to = archivePath(manifest);
  const copied = await copyIfAbsent(bucket, { path: from, ...staged }, to, immutable(contentTypes[format]));
  const there = await bucket.stat(to);
  if (there?.bytes === bytes && (await sha256Of(bucket, to, there, work)) === sha256) return;
  // Another publisher, or an earlier attempt of this one, was quicker, and left something else.
  if (!copied) requireSameContent(null, manifest);
  await bucket.remove(to);
  throw new StagedChanged('the staged archive is not the one that was verified');
}

/**
 * Downloads a version's archive to a new file. Throws `NoSuchVersion`, `VersionDamaged` when it is not the one its
 * manifest names, system errors and what `S3Bucket` throws.
 */
export async function downloadArchive(bucket: S3Bucket, manifest: Manifest, file: string, work?: Work): Promise<void> {
  const { version, source, archive } = manifest;
  const path = archivePath(manifest);
  const found = await bucket.stat(path);
  if (found === null) throw new NoSuchVersion(`${source.domain} has no version ${version} any more`);
  const hash = createHash('sha256');
  const hashed = async function* () {
    for await (const chunk of readS3Object(bucket, path, found, work)) {
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(hashed, createWriteStream(file, { flags: 'wx' }));
  if (hash.digest('hex') !== archive.sha256) {
    throw new VersionDamaged('its archive is not the one its manifest names: the SHA-256 differs');
  }
}

async function sha256Of(
  bucket: S3Bucket,
  path: string,
  object: { bytes: number; etag: string },
  work: Work,
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readS3Object(bucket, path, object, work)) hash.update(chunk);
  return hash.digest('hex');
}
