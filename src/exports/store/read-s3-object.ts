import type { ByteRange, Work } from './bundle-store.ts';
import { StoreUnreachable, VersionDamaged } from './store-errors.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { s3Failure } from './s3-failure.ts';

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
