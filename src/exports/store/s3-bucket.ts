import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { ByteRange } from './bundle-store.ts';
import { type S3Agents, s3Client } from './s3-client.ts';
import {
  isAbsent,
  isConditionFailed,
  isGarbled,
  isUnknownRequest,
  type S3Permission,
  s3Failure,
} from './s3-failure.ts';
import type { S3Location } from './s3-location.ts';

/** What a write requires of the object before; otherwise it changes nothing and answers false. */
export type Condition = 'absent' | { etag: string };

export interface S3Object {
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

  /** Bucket and key of a path. */
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
      if (isConditionFailed(error)) return 'condition failed';
      if (isAbsent(error) || (isUnknownRequest(error) && permission === optional)) return 'absent';
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
