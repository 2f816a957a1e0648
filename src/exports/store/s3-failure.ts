import { StoreRefused, StoreUnreachable } from './store-errors.ts';
import { locationText, type S3Location } from './s3-location.ts';

/** The permissions of a request, as AWS's policies name them. */
export type S3Permission =
  | 's3:GetObject'
  | 's3:PutObject'
  | 's3:DeleteObject'
  | 's3:ListBucket'
  | 's3:AbortMultipartUpload'
  | 's3:ListBucketMultipartUploads';

const network =
  /^(ECONN\w+|EPIPE|ENOTFOUND|EAI_\w+|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|TimeoutError|NetworkingError|RequestTimeout|ChecksumMismatch)$/;
const busy = /^(SlowDown|ServiceUnavailable|InternalError|Throttling\w*|TooManyRequests\w*|OperationAborted)$/;
const certificate = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/;
const noCredentials = /^(CredentialsProviderError|TokenProviderError|CredentialsError)$/;
const wrongKey =
  /^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidClientTokenId|InvalidToken|InvalidSecurity|NotSignedUp)$/;
const expired = /^(ExpiredToken\w*|TokenRefreshRequired|RequestExpired|ExpiredCredentials)$/;
const elsewhere =
  /^(PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint\w*|301|307)$/;

/**
 * The error of a request in words that may be shown: never the SDK's own message, which can contain key ids, signed
 * headers and the server's answer. An error that is not about the object store is returned unchanged.
 */
export function s3Failure(error: unknown, location: S3Location, permission: S3Permission): unknown {
  if (!(error instanceof Error) || error.name === 'AbortError') return error;
  const where = locationText(location);
  const [name, status] = [errorName(error), statusOf(error)];
  if (network.test(name) || busy.test(name) || (status >= 500 && status !== 501) || status === 429) {
    const broken = isGarbled(error) ? 'sends damaged bytes' : `cannot be reached (${name})`;
    const said = status >= 400 ? `answers ${status}` : broken;
    return new StoreUnreachable(`the object store of ${where} ${said}`);
  }
  const known = refusal(name, status, location, permission);
  if (known) return new StoreRefused(...known);
  if (status === 0) return error;
  // Some gateways on file systems answer 409 when another request removes a folder that this one needs.
  if (status === 409) return new StoreUnreachable(`the object store of ${where} met another request (${name})`);
  return new StoreRefused(`the object store of ${where} refused a request (${name}, ${status})`, checkBucket);
}

/** True when the bytes received are not those the store announced: damaged, or replaced half-way. */
export function isGarbled(error: unknown): boolean {
  return error instanceof Error && errorName(error) === 'ChecksumMismatch';
}

/** True when a condition of a write (`If-Match`, `If-None-Match`) was not met, or another write came in between. */
export function isConditionFailed(error: unknown): boolean {
  return error instanceof Error && (statusOf(error) === 412 || errorName(error) === 'ConditionalRequestConflict');
}

/** True when the server does not know such a request at all. */
export function isUnknownRequest(error: unknown): boolean {
  return error instanceof Error && statusOf(error) === 501;
}

/** True when the object is absent; a missing bucket does not count. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && statusOf(error) === 404 && errorName(error) !== 'NoSuchBucket';
}

const checkBucket = 'check store.bundles.s3 in the configuration, and that the server speaks S3';

type Refusal = [problem: string, fix: string, mayPass?: boolean];

function refusal(name: string, status: number, location: S3Location, permission: S3Permission): Refusal | null {
  const where = locationText(location);
  if (noCredentials.test(name)) {
    return [
      `there are no credentials for ${where}`,
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role',
    ];
  }
  if (wrongKey.test(name)) {
    const fix = 'correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or the profile), and start again';
    return [`the credentials for ${where} are wrong (${name})`, fix];
  }
  if (expired.test(name)) {
    return [
      `the credentials for ${where} have expired`,
      'renew them, or use a profile or a role that renews itself',
      true,
    ];
  }
  if (name === 'RequestTimeTooSkewed') return [`${where} refuses this machine's clock`, 'set the clock', true];
  if (name === 'NoSuchBucket') {
    return [`the bucket ${location.bucket} does not exist (${where})`, 'create it, or correct store.bundles.s3.bucket'];
  }
  if (name === 'RegionMissing' || elsewhere.test(name) || status === 301) {
    return [`the region of ${where} is missing or wrong`, 'set store.bundles.s3.region to that of the bucket'];
  }
  if (certificate.test(name)) {
    const fix = 'name the certificate authority in NODE_EXTRA_CA_CERTS';
    return [`the certificate of ${where} is not trusted (${name})`, fix];
  }
  if (status === 401 || status === 403) {
    return [`${where} denies access (${name})`, `allow ${permission} for the bucket to these credentials`];
  }
  return null;
}

/** The name that the store or the system gave the error: letters and digits, nothing else. */
function errorName(error: Error): string {
  if (/^Region is missing/.test(error.message)) return 'RegionMissing';
  if (/^Checksum mismatch/.test(error.message)) return 'ChecksumMismatch';
  const code = systemCode(error) ?? error.name;
  return /^[A-Za-z0-9_.]{1,60}$/.test(code) ? code : 'unknown error';
}

/** The code of the underlying system error, looked for in causes and in attempts at several addresses. */
function systemCode(error: Error): string | null {
  if ('code' in error && typeof error.code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(error.code)) return error.code;
  if (error instanceof AggregateError) {
    const [first] = error.errors;
    return first instanceof Error ? systemCode(first) : null;
  }
  return error.cause instanceof Error ? systemCode(error.cause) : null;
}

function statusOf(error: Error): number {
  if (!('$metadata' in error) || typeof error.$metadata !== 'object' || error.$metadata === null) return 0;
  const { $metadata } = error;
  return 'httpStatusCode' in $metadata && typeof $metadata.httpStatusCode === 'number' ? $metadata.httpStatusCode : 0;
}
