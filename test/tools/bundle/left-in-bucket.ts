import { ListMultipartUploadsCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import type { S3Server } from '../servers/s3-server.ts';

/** The store's identity, the records and versions of a site, and the marks of what is in service. */
const own = [
  /^\.store\.json$/,
  /^[^/]+\/(current|in-use|observed|rollouts)\.json$/,
  /^[^/]+\/versions\/[^/]+\/(bundle\.tar\.gz|manifest\.json)$/,
  /^\.in-service\/[^/]+\/[^/]+\/[^/]+$/,
];

/** Unfinished uploads, and objects that belong to no version. */
export async function leftInBucket({ client, bucket: Bucket }: S3Server, prefix: string): Promise<string[]> {
  const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix }));
  const keys = (uploads.Uploads ?? []).map(({ Key = '' }) => Key);
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix: `${prefix}/` })) {
    const paths = Contents.map(({ Key = '' }) => Key.slice(prefix.length + 1));
    keys.push(...paths.filter((path) => !own.some((known) => known.test(path))));
  }
  return keys;
}
