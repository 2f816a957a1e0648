import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { StoreRefused, StoreUnreachable } from '../../../src/exports/store/bundle-store.ts';
import { S3Bucket } from '../../../src/exports/store/s3-bucket.ts';
import { abortUploads, copyIfAbsent, uploadArchive } from '../../../src/exports/store/s3-multipart.ts';
import { S3BundleStore, type S3StoreOptions } from '../../../src/exports/store/s3-store.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';
import { publish, sealOfStaged, siteDomain, stage, stagedManifest } from '../../tools/bundle/staged.ts';
import { s3Backend, s3Server } from '../../tools/bundle/store-backends.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { cuttingProxy } from '../../tools/proxies/cutting-proxy.ts';

const v1 = '20261121T040200Z-aaaaaaaaaaaa';
const mib = 1024 ** 2;
/** Bytes that never repeat. */
const content = (bytes: number) =>
  Buffer.from(Uint32Array.from({ length: bytes / 4 }, (_, n) => n * 2_654_435_761).buffer);

async function options(more: Partial<S3StoreOptions> = {}): Promise<S3StoreOptions> {
  const { bucket, endpoint } = s3Server();
  const workFolder = join(await tempFolder(), 'work');
  return { bucket, endpoint, prefix: 'own', publicUrl: 'http://localhost:8090', workFolder, ...more };
}

const planted = process.env;
const credentials = (id: string, secret: string, more: NodeJS.ProcessEnv = {}) => {
  process.env = { ...planted, AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, ...more };
};
afterEach(() => {
  process.env = planted;
});

describe.skipIf(!s3Backend.available)('S3BundleStore', () => {
  beforeAll(() => s3Backend.start());
  afterAll(() => s3Backend.stop());

  it('is another store elsewhere, even when its identity was copied there', async () => {
    const first = await S3BundleStore.open(await options({ prefix: 'one' }));
    const { client, bucket, endpoint } = s3Server();
    const one = new S3Bucket({ bucket, endpoint, prefix: 'one' });
    const copy = new S3Bucket({ bucket, endpoint, prefix: 'two' });
    await copy.write('.store.json', (await one.read('.store.json'))?.text ?? '', null);
    const second = await S3BundleStore.open(await options({ prefix: 'two' }));
    expect(second.identity).not.toBe(first.identity);
    expect((await S3BundleStore.open(await options({ prefix: 'one' }))).identity).toBe(first.identity);
    expect([first.place, second.place]).toEqual([`s3://${bucket}/one`, `s3://${bucket}/two`]);
    expect(client.config.endpoint).toBeDefined();
  });

  it('keeps the hold of a person who places it while the hold of a check is released (E7)', async () => {
    const where = await options({ prefix: 'released' });
    const [store, other] = [await S3BundleStore.open(where), await S3BundleStore.open(where)];
    await publish(store, v1);
    const request = { version: v1, reason: null, at: new Date() };
    const refused = { version: '20261122T040200Z-bbbbbbbbbbbb', contentDigest: 'ab'.repeat(32) };
    await store.holds.place(siteDomain, { ...request, refused });
    const read = S3Bucket.prototype.read;
    const reading = vi.spyOn(S3Bucket.prototype, 'read').mockImplementation(async function (this: S3Bucket, path) {
      const found = await read.call(this, path);
      if (!path.endsWith('hold.json')) return found;
      reading.mockRestore();
      await other.holds.place(siteDomain, { ...request, reason: 'broken search' });
      return found;
    });
    expect(await store.holds.release(siteDomain, refused.version)).toBeNull();
    expect(await store.holds.of(siteDomain)).toMatchObject({ version: v1, reason: 'broken search' });
  });

  it('returns the hold that it has released, also when the answer to the write was lost', async () => {
    const store = await S3BundleStore.open(await options({ prefix: 'answer-lost' }));
    await publish(store, v1);
    await store.holds.place(siteDomain, { version: v1, reason: 'broken search', at: new Date() });
    loseAnswer();
    expect(await store.holds.release(siteDomain)).toMatchObject({ version: v1, reason: 'broken search' });
    expect(await store.holds.of(siteDomain)).toBeNull();
    expect(await store.holds.release(siteDomain)).toBeNull();
  });

  it('may publish later where a conflicting request kept the archive from its place', async () => {
    const store = await S3BundleStore.open(await options({ prefix: 'conflict' }));
    await stage(store, 'run-1');
    const { send } = S3Client.prototype;
    const sending = vi.spyOn(S3Client.prototype, 'send').mockImplementation(function (this: S3Client, ...sent) {
      if (!(sent[0] instanceof CompleteMultipartUploadCommand)) return Reflect.apply(send, this, sent);
      sending.mockRestore();
      const conflict = { name: 'ConditionalRequestConflict', $metadata: { httpStatusCode: 409 } };
      throw Object.assign(new Error(), conflict);
    });
    await expect(store.publish('run-1', v1, sealOfStaged())).rejects.toBeInstanceOf(StoreUnreachable);
    await store.publish('run-1', v1, sealOfStaged());
    expect(await store.versions(siteDomain)).toHaveLength(1);
  });

  it('uploads and copies large archives in parts, with caching headers', async () => {
    const store = await S3BundleStore.open(await options({ prefix: 'large' }));
    const bytes = content(20 * mib);
    const manifest = await publish(store, v1, bytes);
    expect(sha256(await store.withArchive(siteDomain, v1, (path) => readFile(path)))).toBe(manifest.archive.sha256);
    const { client, bucket: Bucket } = s3Server();
    const Key = `large/${siteDomain}/versions/${v1}/bundle.tar.gz`;
    expect(await client.send(new HeadObjectCommand({ Bucket, Key }))).toMatchObject({
      ContentType: 'application/gzip',
      CacheControl: 'public, max-age=31536000, immutable',
      ContentLength: bytes.length,
    });
    const place = new S3Bucket({ ...(await options({ prefix: 'large' })) });
    const from = { path: `${siteDomain}/versions/${v1}/bundle.tar.gz`, ...(await place.stat(Key.slice(6))) };
    const headers = { ContentType: 'application/gzip', CacheControl: 'no-cache' };
    const source = { path: from.path, bytes: from.bytes ?? 0, etag: from.etag ?? '' };
    expect(await copyIfAbsent(place, source, 'copied', headers, 6 * mib)).toBe(true);
    expect(await copyIfAbsent(place, source, 'copied', headers, 6 * mib)).toBe(false);
    const copied = await (await place.stream('copied'))?.toArray();
    expect(sha256(Buffer.concat(copied ?? []))).toBe(manifest.archive.sha256);
  });

  it('leaves no parts and nothing visible when an upload is cancelled or the file is not the one verified (P5)', async () => {
    const settings = await options({ prefix: 'cut-short' });
    const store = await S3BundleStore.open(settings);
    const place = new S3Bucket(settings);
    const bytes = content(24 * mib);
    const file = await store.stagingFile('run-1');
    await writeFile(file, bytes);
    const wrong = { file, bytes: bytes.length, sha256: '0'.repeat(64) };
    await expect(uploadArchive(place, `.staging/run-1/${wrong.sha256}`, wrong)).rejects.toMatchObject({
      name: 'StagedChanged',
    });
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const onProgress = () => controller.abort(reason);
    const saving = store.saveStaged('run-1', stagedManifest(bytes), { signal: controller.signal, onProgress });
    await expect(saving).rejects.toBe(reason);
    await expect(store.publish('run-1', v1, sealOfStaged())).rejects.toMatchObject({ name: 'StagedChanged' });
    await store.discardStaged('run-1');
    await expect.poll(() => unfinished('cut-short/')).toEqual([]);
    expect(await place.list('')).toMatchObject([{ path: '.store.json' }]);
  });

  it('aborts uploads that dead processes left, but no recent ones and none of other programs (P5)', async () => {
    const store = await S3BundleStore.open(await options({ prefix: 'orphans' }));
    const { client, bucket: Bucket } = s3Server();
    const ours = [`orphans/.staging/run-1/${'a'.repeat(64)}`, `orphans/${siteDomain}/versions/${v1}/bundle.zip`];
    const others = ['orphans/backup.tar', 'elsewhere/.staging/run-1/x'];
    for (const Key of [...ours, ...others]) await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    await store.removeAbandoned(siteDomain, new Date());
    expect(await unfinished('orphans/')).toHaveLength(3);
    await store.removeAbandoned(siteDomain, new Date(Date.now() + 25 * 3_600_000));
    expect(await unfinished('orphans/')).toEqual(['orphans/backup.tar']);
    expect(await unfinished('elsewhere/')).toHaveLength(1);
  });

  it('leaves everything else in its work folder alone', async () => {
    const settings = await options({ prefix: 'shared-folder' });
    const store = await S3BundleStore.open(settings);
    const run = '01a21fb8-44e5-73ec-8274-721aefb48395';
    await writeFile(await store.stagingFile(run), 'half');
    await writeFile(join(settings.workFolder, 'feedback.db'), '');
    await store.removeAbandoned(siteDomain, new Date(Date.now() + 8 * 86_400_000));
    expect(await readdir(settings.workFolder)).toEqual(['feedback.db']);
  });

  it('resumes where a download broke off, and never returns anything but the archive (P6)', async () => {
    const settings = await options({ prefix: 'broken' });
    const bytes = content(6 * mib);
    await publish(await S3BundleStore.open(settings), v1, bytes);
    const proxy = await cuttingProxy(s3Server().endpoint, 2 * mib, 2);
    onTestFinished(() => proxy.stop());
    const behind = await S3BundleStore.open({ ...settings, endpoint: proxy.url });
    const lent = await behind.withArchive(siteDomain, v1, async (path) => sha256(await readFile(path)));
    expect([lent, proxy.cuts()]).toEqual([sha256(bytes), 2]);
    const store = await S3BundleStore.open(settings);
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(1000) ^ 1, 1000);
    await new S3Bucket(settings).write(`${siteDomain}/versions/${v1}/bundle.tar.gz`, '', null);
    await expect(store.withArchive(siteDomain, v1, async () => 'used')).rejects.toMatchObject({
      name: 'NoSuchVersion',
    });
    await replace(`broken/${siteDomain}/versions/${v1}/bundle.tar.gz`, flipped);
    await expect(store.withArchive(siteDomain, v1, async () => 'used')).rejects.toMatchObject({
      name: 'VersionDamaged',
    });
    expect(await readdir(settings.workFolder)).toEqual([]);
  });

  describe('what it reports when it cannot be used', () => {
    const secret = 'planted-secret-9f8e7d6c5b4a';
    const problemOf = async (more: Partial<S3StoreOptions> = {}): Promise<StoreRefused | StoreUnreachable> => {
      const failure = await S3BundleStore.open(await options({ prefix: 'refused', ...more })).then(
        () => null,
        (error: unknown) => error,
      );
      if (!(failure instanceof StoreRefused || failure instanceof StoreUnreachable)) throw failure;
      const said = `${failure.message} ${'hint' in failure ? failure.hint : ''} ${failure.stack}`;
      for (const hidden of [secret, s3Server().secretAccessKey, 'AKIASTRANGER', 'X-Amz', 'Signature=']) {
        expect(said).not.toContain(hidden);
      }
      return failure;
    };

    it('wrong key, wrong secret, none at all', async () => {
      credentials('AKIASTRANGER', secret);
      expect(await problemOf()).toMatchObject({
        message: expect.stringMatching(/^the credentials for s3:.* are wrong \(InvalidAccessKeyId\)$/),
        hint: expect.stringContaining('AWS_ACCESS_KEY_ID'),
        mayPass: false,
      });
      credentials(s3Server().accessKeyId, secret);
      expect((await problemOf()).message).toContain('are wrong (SignatureDoesNotMatch)');
      const home = await tempFolder();
      process.env = { PATH: planted.PATH, HOME: home, AWS_EC2_METADATA_DISABLED: 'true' };
      expect(await problemOf()).toMatchObject({
        message: expect.stringContaining('there are no credentials'),
        hint: expect.stringContaining('AWS_PROFILE'),
      });
    });

    it('missing permissions: which, and for what', async () => {
      await s3Server().addStranger('AKIASTRANGER', secret);
      credentials('AKIASTRANGER', secret);
      expect(await problemOf()).toMatchObject({
        message: expect.stringContaining('denies access (AccessDenied)'),
        hint: expect.stringContaining('allow s3:GetObject'),
      });
    });

    it('a bucket or region that does not exist', async () => {
      expect(await problemOf({ bucket: 'no-such-bucket' })).toMatchObject({
        message: expect.stringContaining('the bucket no-such-bucket does not exist'),
        hint: expect.stringContaining('create it'),
      });
      process.env = { ...planted, HOME: await tempFolder(), AWS_CONFIG_FILE: '/nowhere' };
      expect((await problemOf({ endpoint: undefined })).message).toContain('region of s3://');
    });

    it('credentials that have expired may pass; so may a server that is down or overloaded', async () => {
      const expired = await answering(400, xml('ExpiredToken'));
      expect(await problemOf({ endpoint: expired })).toMatchObject({
        message: expect.stringContaining('have expired'),
        mayPass: true,
      });
      const busy = await answering(503, xml('SlowDown'));
      expect(await problemOf({ endpoint: busy })).toBeInstanceOf(StoreUnreachable);
      const down = await problemOf({ endpoint: 'http://127.0.0.1:9' });
      expect(down).toBeInstanceOf(StoreUnreachable);
      expect(down.message).toContain('cannot be reached (ECONNREFUSED)');
    });

    it('a work folder that cannot be created', async () => {
      const file = join(await tempFolder(), 'file');
      await writeFile(file, '');
      const workFolder = join(file, 'work');
      const store = await S3BundleStore.open(await options({ prefix: 'no-folder', workFolder }));
      for (const use of [() => store.checkWritable(), () => store.stagingFile('run-1')]) {
        await expect(use()).rejects.toMatchObject({
          name: 'StoreNotWritable',
          message: expect.stringContaining(workFolder),
        });
      }
    });

    it('a server that is no object store', async () => {
      expect(await problemOf({ endpoint: await answering(418, '<html>teapot</html>') })).toMatchObject({
        message: expect.stringMatching(/refused a request \(\w+, 418\)$/),
        hint: expect.stringContaining('store.bundles.s3'),
      });
    });

    it('a web server that answers everything with a page', async () => {
      expect(await problemOf({ endpoint: await answering(200, '<html>welcome</html>') })).toMatchObject({
        message: expect.stringContaining('.store.json in s3://docs-bundles/refused'),
        hint: expect.stringContaining('does the endpoint speak S3'),
      });
    });

    it('an object store that cannot list uploads is used all the same', async () => {
      const endpoint = await answering(501, xml('NotImplemented'));
      const place = new S3Bucket({ ...(await options()), endpoint });
      await expect(abortUploads(place, '', null)).resolves.toBeUndefined();
      await expect(place.list('')).rejects.toMatchObject({
        name: 'StoreRefused',
        message: expect.stringContaining('(NotImplemented, 501)'),
      });
    });

    it('an object store that ignores the conditions of writes', async () => {
      const endpoint = await listening((request, response) => {
        const read = request.method === 'GET';
        request.resume().on('end', () => {
          response.writeHead(200, { ETag: '"e"' }).end(read ? '{"identity": "x"}' : undefined);
        });
      });
      const store = await S3BundleStore.open(await options({ endpoint }));
      await expect(store.checkWritable()).rejects.toMatchObject({
        name: 'StoreRefused',
        message: expect.stringContaining('ignores If-None-Match'),
      });
    });
  });

  it('keeps the staged archive when the store goes away in between', async () => {
    const settings = await options({ prefix: 'away' });
    const store = await S3BundleStore.open(settings);
    await stage(store, 'run-1');
    const proxy = await cuttingProxy(s3Server().endpoint, 0, Number.POSITIVE_INFINITY);
    onTestFinished(() => proxy.stop());
    const behind = new S3Bucket({ ...settings, endpoint: proxy.url });
    await expect(behind.read('.store.json')).rejects.toBeInstanceOf(StoreUnreachable);
    await store.publish('run-1', v1, sealOfStaged());
    expect(await store.versions(siteDomain)).toHaveLength(1);
  });
});

/** The next write of a hold arrives, but its answer does not, and the repetition finds the condition unmet. */
function loseAnswer(): void {
  const { write } = S3Bucket.prototype;
  const writing = vi.spyOn(S3Bucket.prototype, 'write').mockImplementation(async function (this: S3Bucket, ...sent) {
    const isWritten = await write.apply(this, sent);
    if (!sent[0].endsWith('hold.json')) return isWritten;
    writing.mockRestore();
    return false;
  });
}

async function unfinished(Prefix: string): Promise<string[]> {
  const { client, bucket: Bucket } = s3Server();
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix }));
  return Uploads.map(({ Key = '' }) => Key).sort();
}

async function replace(Key: string, Body: Buffer): Promise<void> {
  const { PutObjectCommand } = await import('@aws-sdk/client-s3');
  const { client, bucket: Bucket } = s3Server();
  await client.send(new PutObjectCommand({ Bucket, Key, Body }));
}

const xml = (code: string) =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>token planted-secret-9f8e7d6c5b4a</Message></Error>`;

function answering(status: number, body: string): Promise<string> {
  return listening((request, response) => {
    request.resume().on('end', () => response.writeHead(status, { 'Content-Type': 'application/xml' }).end(body));
  });
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
