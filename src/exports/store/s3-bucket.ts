import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { type ByteRange, locationText, type S3Location, StoreRefused, StoreUnreachable } from './bundle-store.ts';

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
function s3Client({ endpoint, region }: S3Location, agents?: S3Agents): S3Client {
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

/** The permissions of a request, as AWS's policies name them. */
type S3Permission =
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
function isGarbled(error: unknown): boolean {
  return error instanceof Error && errorName(error) === 'ChecksumMismatch';
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

/** What a write requires of the object before; otherwise it changes nothing and answers false. */
type Condition = 'absent' | { etag: string };

interface S3Object {
  /** Relative to the prefix. */
  path: string;
  bytes: number;
  modified: Date;
}

/** Headers for readers that fetch an object directly from the bucket. */
export interface S3Headers {
  ContentType: string;
  CacheControl: string;
}

/** Servers that lack this request have no unfinished uploads to find. */
const optional: S3Permission = 's3:ListBucketMultipartUploads';
const readTries = 10;
const garbledWaitMs = 200;
/** A file up to this size is sent from memory: such a request the SDK sends again by itself, a stream it never does. */
const inMemoryBytes = 8 * 1024 ** 2;
const streamWaitMs = 500;

type Answer<T> = { found: T } | 'absent' | 'condition failed';

/**
 * One prefix of a bucket: single requests, with paths relative to the prefix and the SDK's errors translated. All
 * methods throw `StoreRefused` and `StoreUnreachable`. `s3-multipart.ts` handles large objects.
 */
export class S3Bucket {
  readonly location: S3Location;
  readonly client: S3Client;
  readonly #base: string;

  constructor(location: S3Location, agents?: S3Agents) {
    this.location = location;
    this.client = s3Client(location, agents);
    this.#base = location.prefix === '' ? '' : `${location.prefix}/`;
  }

  at(path: string): { Bucket: string; Key: string } {
    return { Bucket: this.location.bucket, Key: `${this.#base}${path}` };
  }

  /** The path of a key below the prefix. */
  pathOf(key: string | undefined): string {
    return (key ?? '').slice(this.#base.length);
  }

  /** Runs a request and translates its errors; an absent object or an unmet condition is an answer, not an error. */
  async ask<T>(
    permission: S3Permission,
    request: (options: { abortSignal?: AbortSignal }) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<Answer<T>> {
    signal?.throwIfAborted();
    try {
      return { found: await request(signal === undefined ? {} : { abortSignal: signal }) };
    } catch (error) {
      const [name, status] = error instanceof Error ? [errorName(error), statusOf(error)] : ['', 0];
      // The condition of a write was not met, or another write came in between.
      if (status === 412 || name === 'ConditionalRequestConflict') return 'condition failed';
      if (status === 404 && name !== 'NoSuchBucket') return 'absent';
      if (status === 501 && permission === optional) return 'absent';
      signal?.throwIfAborted();
      throw s3Failure(error, this.location, permission);
    }
  }

  /** Null when the object is absent. */
  async read(path: string): Promise<{ text: string; etag: string } | null> {
    const answer = await this.ask('s3:GetObject', () => this.#readWhole(path, readTries));
    return typeof answer === 'string' ? null : answer.found;
  }

  /** Reads again until text and ETag match: servers on a file system can mix them while the object is replaced. */
  async #readWhole(path: string, tries: number): Promise<{ text: string; etag: string }> {
    try {
      const { Body, ETag = '' } = await this.client.send(new GetObjectCommand(this.at(path)));
      return { text: (await Body?.transformToString()) ?? '', etag: ETag };
    } catch (error) {
      if (tries <= 1 || !isGarbled(error)) throw error;
      await sleep(garbledWaitMs * Math.random());
      return this.#readWhole(path, tries - 1);
    }
  }

  /** The bytes of an object, or a range of them; null when it is absent, or not the one that `etag` names. */
  async stream(
    path: string,
    { range, etag, signal }: { range?: ByteRange; etag?: string; signal?: AbortSignal } = {},
  ): Promise<Readable | null> {
    const command = new GetObjectCommand({
      ...this.at(path),
      ...(range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` }),
      ...(etag === undefined ? {} : { IfMatch: etag }),
    });
    const answer = await this.ask('s3:GetObject', (options) => this.client.send(command, options), signal);
    if (typeof answer === 'string') return null;
    const { Body } = answer.found;
    if (!(Body instanceof Readable)) throw new TypeError('the object store sent no body');
    return Body;
  }

  /** Null when the object is absent. */
  async stat(path: string): Promise<{ bytes: number; etag: string } | null> {
    const answer = await this.ask('s3:GetObject', () => this.client.send(new HeadObjectCommand(this.at(path))));
    if (typeof answer === 'string') return null;
    return { bytes: answer.found.ContentLength ?? 0, etag: answer.found.ETag ?? '' };
  }

  /** Writes an object, whole or not at all; false when the condition is not met. */
  async write(
    path: string,
    text: string,
    condition: Condition | null,
    headers: S3Headers = mutableJson,
  ): Promise<boolean> {
    const command = new PutObjectCommand({
      ...this.at(path),
      ...headers,
      Body: text,
      ...(condition === 'absent' ? { IfNoneMatch: '*' } : {}),
      ...(condition !== null && condition !== 'absent' ? { IfMatch: condition.etag } : {}),
    });
    return typeof (await this.ask('s3:PutObject', () => this.client.send(command))) !== 'string';
  }

  /** Writes a file of `bytes`, at most 5 GiB. */
  async put(path: string, file: string, bytes: number, headers: S3Headers, signal?: AbortSignal): Promise<void> {
    const put = async (Body: Buffer | Readable) => {
      const command = new PutObjectCommand({ ...this.at(path), ...headers, ContentLength: bytes, Body });
      const answer = await this.ask('s3:PutObject', (options) => this.client.send(command, options), signal);
      if (typeof answer === 'string') throw new StoreUnreachable(`the object store did not take ${path} (${answer})`);
    };
    if (bytes <= inMemoryBytes) return put(await readFile(file));
    for (let left = attempts; ; left -= 1) {
      const stream = createReadStream(file);
      try {
        return await put(stream);
      } catch (error) {
        if (left <= 1 || !(error instanceof StoreUnreachable)) throw error;
        await sleep(streamWaitMs * (1 + Math.random()));
      } finally {
        stream.destroy();
      }
    }
  }

  /** Does nothing when the object is absent. */
  async remove(path: string): Promise<void> {
    await this.ask('s3:DeleteObject', () => this.client.send(new DeleteObjectCommand(this.at(path))));
  }

  /** All objects whose path begins with `start`, in the order of their keys. */
  async list(start: string): Promise<S3Object[]> {
    const objects: S3Object[] = [];
    for await (const { Contents } of this.#pages(start)) {
      for (const { Key, Size = 0, LastModified = new Date(0) } of Contents ?? []) {
        objects.push({ path: this.pathOf(Key), bytes: Size, modified: LastModified });
      }
    }
    return objects;
  }

  /** Names of the folders directly below the prefix. */
  async folders(): Promise<string[]> {
    const names: string[] = [];
    for await (const { CommonPrefixes } of this.#pages('', '/')) {
      for (const { Prefix } of CommonPrefixes ?? []) names.push(this.pathOf(Prefix).replace(/\/$/, ''));
    }
    return names;
  }

  async *#pages(start: string, delimiter?: string) {
    const { Bucket, Key } = this.at(start);
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket, Prefix: Key, Delimiter: delimiter, ContinuationToken: token });
      const answer = await this.ask('s3:ListBucket', () => this.client.send(command));
      // Some servers answer this to the listing of an empty bucket.
      if (typeof answer === 'string') return;
      yield answer.found;
      token = answer.found.IsTruncated ? answer.found.NextContinuationToken : undefined;
    } while (token !== undefined);
  }
}

/** For objects that change: no cache may keep them. */
const mutableJson: S3Headers = { ContentType: 'application/json', CacheControl: 'no-cache' };
