import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { type ByteRange, StagedChanged, StoreUnreachable, VersionDamaged, type Work } from './bundle-store.ts';
import { type S3Bucket, type S3Headers, s3Failure } from './s3-bucket.ts';

/** Memory use is the product of these two. */
const partsAtOnce = 3;
const smallestPartBytes = 8 * 1024 ** 2;
/** Copied within the object store, which sends nothing meanwhile. */
const copyPartBytes = 128 * 1024 ** 2;
const mostParts = 10_000;

interface LocalArchive {
  file: string;
  /** What its content must be: lowercase hex SHA-256. */
  sha256: string;
  bytes: number;
}

/**
 * Uploads a local archive in parts, each with a checksum, and takes its SHA-256 on the way: only the archive that was
 * verified becomes an object. Throws `StagedChanged`, system errors and what `S3Bucket` throws; a failure
 * leaves no parts behind.
 */
export async function uploadArchive(
  bucket: S3Bucket,
  path: string,
  archive: LocalArchive,
  { signal, onProgress }: Work = {},
): Promise<void> {
  signal?.throwIfAborted();
  const upload = new Upload({
    client: bucket.client,
    params: { ...bucket.at(path), Body: Readable.from(checked(archive)) },
    partSize: Math.max(smallestPartBytes, Math.ceil(archive.bytes / mostParts)),
    queueSize: partsAtOnce,
    leavePartsOnError: false,
  });
  upload.on('httpUploadProgress', () => onProgress?.());
  const abort = () => void upload.abort();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await upload.done();
  } catch (error) {
    signal?.throwIfAborted();
    throw s3Failure(error, bucket.location, 's3:PutObject');
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** The file's content; fails at its end, before the last part is sent, when it is not the archive. */
async function* checked({ file, sha256 }: LocalArchive): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 ** 2 })) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== sha256) throw new StagedChanged('the staged archive is not the one that was verified');
}

/**
 * Copies an object of any size within the bucket if `to` is free; false when it is not. It copies in parts,
 * because only their completion can be made conditional on every server. Throws what `S3Bucket` throws and
 * `StagedChanged`.
 */
export async function copyIfAbsent(
  bucket: S3Bucket,
  from: { path: string; bytes: number; etag: string },
  to: string,
  headers: S3Headers,
  partBytes = copyPartBytes,
): Promise<boolean> {
  const { client } = bucket;
  const begun = await bucket.ask('s3:PutObject', () =>
    client.send(new CreateMultipartUploadCommand({ ...bucket.at(to), ...headers })),
  );
  const upload = { ...bucket.at(to), UploadId: typeof begun === 'string' ? undefined : begun.found.UploadId };
  try {
    const Parts: CompletedPart[] = [];
    const { Bucket, Key } = bucket.at(from.path);
    const source = { CopySource: encodeURI(`${Bucket}/${Key}`), CopySourceIfMatch: from.etag };
    for (let start = 0; start < from.bytes; start += partBytes) {
      const PartNumber = Parts.length + 1;
      const CopySourceRange = `bytes=${start}-${Math.min(start + partBytes, from.bytes) - 1}`;
      const copied = await bucket.ask('s3:PutObject', () =>
        client.send(new UploadPartCopyCommand({ ...upload, ...source, PartNumber, CopySourceRange })),
      );
      if (typeof copied === 'string') {
        if ((await bucket.stat(to)) === null) throw new StagedChanged('the staged archive is gone');
        // A quicker publisher aborted this upload.
        return false;
      }
      const { ETag, ChecksumCRC32, ChecksumCRC64NVME } = copied.found.CopyPartResult ?? {};
      Parts.push({ PartNumber, ETag, ChecksumCRC32, ChecksumCRC64NVME });
    }
    const completed = await bucket.ask('s3:PutObject', () =>
      client.send(new CompleteMultipartUploadCommand({ ...upload, IfNoneMatch: '*', MultipartUpload: { Parts } })),
    );
    if (typeof completed !== 'string') return true;
    await abort(bucket, upload);
    return false;
  } catch (error) {
    await abort(bucket, upload).catch(() => undefined);
    throw error;
  }
}

/** The paths that docferry uploads to: other uploads to a shared bucket are left alone. */
const ours = /^(\.staging\/[^/]+\/[0-9a-f]{64}|[^/]+\/versions\/[^/]+\/bundle\.(tar\.gz|tar|zip))$/;

/** Aborts docferry's unfinished uploads below a path: those that began before a moment, or all. */
export async function abortUploads(bucket: S3Bucket, start: string, before: Date | null): Promise<void> {
  const { Bucket, Key: Prefix } = bucket.at(start);
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | null = {};
  while (marker !== null) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket, Prefix, ...marker });
    const answer = await bucket.ask('s3:ListBucketMultipartUploads', () => bucket.client.send(command));
    if (typeof answer === 'string') return;
    const { Uploads = [], IsTruncated, NextKeyMarker, NextUploadIdMarker } = answer.found;
    for (const { Key, UploadId, Initiated } of Uploads) {
      const old = before === null || (Initiated !== undefined && Initiated < before);
      if (old && ours.test(bucket.pathOf(Key))) await abort(bucket, { Bucket, Key, UploadId });
    }
    marker = IsTruncated ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } : null;
  }
}

async function abort(
  bucket: S3Bucket,
  upload: { Bucket: string; Key: string | undefined; UploadId: string | undefined },
): Promise<void> {
  await bucket.ask('s3:AbortMultipartUpload', () => bucket.client.send(new AbortMultipartUploadCommand(upload)));
}

/** Connections in a row that may break off without a byte. */
const idleTries = 3;

/**
 * The bytes of an object, or of a range of it, in order. It resumes where a connection broke off if the object is
 * provably the same. Throws `VersionDamaged` when the object changes meanwhile, and what `S3Bucket` throws.
 */
export async function* readS3Object(
  bucket: S3Bucket,
  path: string,
  { bytes, etag }: { bytes: number; etag: string },
  { signal, onProgress }: Work = {},
  { start, end }: ByteRange = { start: 0, end: bytes - 1 },
): AsyncGenerator<Buffer> {
  let offset = start;
  for (let idle = 0; offset <= end; idle += 1) {
    const range = { start: offset, end };
    const body = await bucket.stream(path, { range, etag, ...(signal && { signal }) });
    if (body === null) throw new VersionDamaged('its archive was removed or replaced while it was read');
    const before = offset;
    try {
      for await (const chunk of body) {
        offset += chunk.length;
        if (offset > end + 1) throw new VersionDamaged('its archive is longer than announced');
        yield chunk;
        onProgress?.();
      }
    } catch (error) {
      signal?.throwIfAborted();
      const failure = s3Failure(error, bucket.location, 's3:GetObject');
      if (!(failure instanceof StoreUnreachable)) throw failure;
      if (offset > before) idle = 0;
      if (idle >= idleTries) throw failure;
      continue;
    }
    if (offset === before && idle >= idleTries) throw new StoreUnreachable('the object store sends no bytes');
  }
}
