import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { S3Client } from '@aws-sdk/client-s3';
import type { S3Location } from './s3-location.ts';

/** Agents that connect through a proxy. */
export interface S3Agents {
  httpAgent: HttpAgent;
  httpsAgent: HttpsAgent;
}

const connectMs = 10_000;
/** Servers on a file system are silent while they put the parts of a large object together. */
const silentMs = 120_000;
const attempts = 4;
/** The region that self-hosted servers use unless configured otherwise. */
const usualRegion = 'us-east-1';

/** A client of the object store. Credentials come from the SDK's own chain and are never seen here. */
export function s3Client({ endpoint, region }: S3Location, agents?: S3Agents): S3Client {
  // The SDK is pinned: its warning that later releases drop this Node version does not apply.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  const ownServer = endpoint !== undefined && process.env.AWS_REGION === undefined;
  const knownRegion = region ?? (ownServer ? usualRegion : undefined);
  return new S3Client({
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(knownRegion === undefined ? {} : { region: knownRegion }),
    maxAttempts: attempts,
    requestHandler: { connectionTimeout: connectMs, socketTimeout: silentMs, ...agents },
  });
}
