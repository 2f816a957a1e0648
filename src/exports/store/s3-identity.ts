import { createHash, randomUUID } from 'node:crypto';
import { StoreRefused } from './store-errors.ts';
import { parseIdentity, toJson } from './store-json.ts';
import { identityPath } from './store-layout.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { locationText } from './s3-location.ts';

/**
 * The random id that the first process wrote, bound to endpoint, bucket and prefix: a copy of the bucket elsewhere is
 * another store. Throws `StoreRefused`.
 */
export async function storeIdentity(bucket: S3Bucket): Promise<string> {
  const { endpoint = 'aws', bucket: name, prefix } = bucket.location;
  const found = (await bucket.read(identityPath)) ?? (await createIdentity(bucket));
  const own = createHash('sha256').update(JSON.stringify([idIn(found.text, bucket), endpoint, name, prefix]));
  return `s3-${own.digest('hex').slice(0, 32)}`;
}

function idIn(text: string, { location }: S3Bucket): string {
  try {
    return parseIdentity(text).identity;
  } catch {
    const problem = `${identityPath} in ${locationText(location)} was not written by docferry`;
    throw new StoreRefused(problem, 'check store.bundles.s3: does the endpoint speak S3, is the prefix free?');
  }
}

async function createIdentity(bucket: S3Bucket): Promise<{ text: string }> {
  const text = toJson({ identity: randomUUID() });
  if (await bucket.write(identityPath, text, 'absent')) return { text };
  const found = await bucket.read(identityPath);
  if (found === null)
    throw new StoreRefused(`${locationText(bucket.location)} does not keep what is written`, 'check the bucket');
  return found;
}
