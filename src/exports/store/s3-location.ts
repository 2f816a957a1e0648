/** Where an S3 store is. */
export interface S3Location {
  bucket: string;
  /** Prefix of every key, without slashes around it; empty for the whole bucket. */
  prefix: string;
  /** Address of the object store; AWS when absent. Buckets are then named in the path. */
  endpoint?: string | undefined;
  /** From AWS's own variables and profiles when absent. */
  region?: string | undefined;
}

/** For people: `s3://bucket/prefix at https://…`. */
export function locationText({ bucket, prefix, endpoint }: S3Location): string {
  const path = prefix === '' ? bucket : `${bucket}/${prefix}`;
  return `s3://${path}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
}
