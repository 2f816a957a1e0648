import { ListMultipartUploadsCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import type { S3Server } from '../servers/s3-server.ts';

const own =
  /\/(\.store\.json|[^/]+\/(current|in-use|rollouts)\.json|[^/]+\/versions\/[^/]+\/(bundle\.tar\.gz|manifest\.json))$/;

/** Unfinished uploads, and objects that belong to no version. */
export async function leftInBucket({ client, bucket: Bucket }: S3Server, prefix: string): Promise<string[]> {
  const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix }));
  const keys = (uploads.Uploads ?? []).map(({ Key = '' }) => Key);
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix: `${prefix}/` })) {
    keys.push(...Contents.map(({ Key = '' }) => Key).filter((key) => !own.test(key)));
  }
  return keys;
}
