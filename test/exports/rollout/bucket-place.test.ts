import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BucketPlace } from '../../../src/exports/rollout/bucket-place.ts';
import type { RolloutRequest } from '../../../src/exports/rollout/rollout-target.ts';
import { S3Bucket } from '../../../src/exports/store/s3-bucket.ts';
import { type Item, tarGz } from '../../tools/bundle/build-archive.ts';
import { unguarded } from '../../tools/bundle/place.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { type S3Server, s3ServerProgram, startS3Server } from '../../tools/servers/s3-server.ts';

const program = await s3ServerProgram();
const domain = 'docs.acme.example';
const versionAt = (n: number) => `20261121T${String(n).padStart(6, '0')}Z-3f9a2c1b8e7d`;

describe.skipIf(program === null)('BucketPlace', () => {
  let server: S3Server;
  let prefixes = 0;
  beforeAll(async () => {
    server = await startS3Server(program ?? '');
  });
  afterAll(() => server.stop());

  function scene() {
    prefixes += 1;
    const prefix = `site-${prefixes}`;
    const location = { bucket: server.bucket, prefix, endpoint: server.endpoint };
    const at = (path: string) => ({ Bucket: server.bucket, Key: `${prefix}/${path}` });
    return {
      location,
      at,
      place: new BucketPlace(location),
      async keys() {
        const { Contents = [] } = await server.client.send(
          new ListObjectsV2Command({ Bucket: server.bucket, Prefix: `${prefix}/` }),
        );
        return Contents.map(({ Key = '' }) => Key.slice(prefix.length + 1)).sort();
      },
      async read(path: string) {
        const { Body } = await server.client.send(new GetObjectCommand(at(path)));
        return (await Body?.transformToString()) ?? '';
      },
    };
  }

  /** The endpoint of a server that may answer a request itself, given how many writes there were, and passes on others. */
  async function behind(
    answerTo: (writes: number, method?: string) => [status: number, code: string] | 'reset' | null,
  ): Promise<string> {
    let writes = 0;
    const between = createServer((asked, answer) => {
      const { method, url: path, headers } = asked;
      if (method === 'PUT') writes += 1;
      const own = answerTo(writes, method);
      if (own === 'reset') return void asked.destroy();
      if (own) return void answer.writeHead(own[0]).end(`<Error><Code>${own[1]}</Code></Error>`);
      const passed = httpRequest(new URL(`${path}`, server.endpoint), { method, headers }, (found) => {
        answer.writeHead(found.statusCode ?? 500, found.headers);
        found.pipe(answer);
      });
      asked.pipe(passed);
    });
    await once(between.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void between.close().closeAllConnections());
    return `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
  }

  async function requestFor(n: number, files: Record<string, string>): Promise<RolloutRequest> {
    const items: Item[] = Object.entries(files).map(([name, content]) => ({ name, content }));
    const file = join(await tempFolder(), 'bundle');
    const bundle = tarGz(items);
    await writeFile(file, bundle);
    const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
    const listed = Object.entries(files).map(([path, content]) => ({
      path,
      bytes: Buffer.byteLength(content),
      sha256: sha256(content),
    }));
    const archive = { sha256: sha256(bundle), bytes: bundle.length, format: 'tar.gz' as const };
    const source = { org: 'acme', domain, jobId: 'job_1' };
    const manifest = { version: versionAt(n), contentDigest: '0'.repeat(64), archive, pages: 1, files: listed, source };
    return { domain, manifest, withArchive: (use) => use(file), url: 'http://x', ...unguarded };
  }

  it('writes assets, then pages, the index page and the marker, with the headers of each', async () => {
    const { place, at, keys } = scene();
    expect(await place.observe()).toMatchObject({ runs: 'none' });
    const put = vi.spyOn(S3Bucket.prototype, 'put');
    await place.take(
      await requestFor(1, { 'index.html': '<p>1', 'guide/a.html': 'a', 'app.js': 'x', 'style.css': 'y' }),
    );
    expect(put.mock.calls.map(([path]) => path)).toEqual(['app.js', 'style.css', 'guide/a.html', 'index.html']);
    expect(await keys()).toEqual(['.docferry-site.json', 'app.js', 'guide/a.html', 'index.html', 'style.css']);
    const head = async (path: string) => {
      const { ContentType, CacheControl } = await server.client.send(new HeadObjectCommand(at(path)));
      return { ContentType, CacheControl };
    };
    expect(await head('index.html')).toMatchObject({
      ContentType: 'text/html; charset=utf-8',
      CacheControl: 'no-cache',
    });
    expect(await head('app.js')).toMatchObject({
      ContentType: 'text/javascript; charset=utf-8',
      CacheControl: 'public, max-age=300',
    });
    expect(await place.observe()).toMatchObject({ runs: 'version', version: versionAt(1), since: expect.any(String) });
  });

  it('writes at most 25 objects when 20 of 2,000 pages have changed', async () => {
    const { place } = scene();
    const site = (changed: number) =>
      Object.fromEntries(
        Array.from({ length: 2_000 }, (_, n) => [
          n === 0 ? 'index.html' : `p/${n}.html`,
          n > 0 && n <= changed ? `new ${n}` : `page ${n}`,
        ]),
      );
    await place.take(await requestFor(1, site(0)));
    const [puts, writes] = [vi.spyOn(S3Bucket.prototype, 'put'), vi.spyOn(S3Bucket.prototype, 'write')];
    expect(await place.take(await requestFor(2, site(20)))).toContain('(20 files written, 0 removed)');
    expect(puts.mock.calls.length + writes.mock.calls.length).toBeLessThanOrEqual(25);
    const again = puts.mock.calls.length;
    expect(await place.take(await requestFor(2, site(20)))).toContain('was in service');
    expect(puts.mock.calls.length).toBe(again);
  });

  it('lets readers follow links over many rollouts without missing a file, and keeps what is not its own', async () => {
    const { place, at, keys, location } = scene();
    await server.client.send(new PutObjectCommand({ ...at('robots.txt'), Body: 'mine' }));
    const site = (n: number) => ({
      'index.html': `<a href="page-${n}.html">`,
      [`page-${n}.html`]: `<script src="app-${n}.js">`,
      [`app-${n}.js`]: `${n}`,
    });
    await place.take(await requestFor(1, site(1)));
    let [rolling, walks] = [true, 0];
    const missed: string[] = [];
    // It reads again what the server mixes while the object is replaced; null is a missing file.
    const bucket = new S3Bucket(location);
    const follow = async (path: string) => {
      const found = await bucket.read(path);
      if (found === null) missed.push(path);
      return found?.text ?? '';
    };
    const reader = async () => {
      while (rolling) {
        const [, page = ''] = /href="([^"]*)"/.exec(await follow('index.html')) ?? [];
        const [, asset = ''] = /src="([^"]*)"/.exec(await follow(page)) ?? [];
        await follow(asset);
        walks += 1;
        // A person reads for a moment, and leaves the processors to the rollouts.
        await sleep(20);
      }
    };
    const readers = [reader(), reader()];
    const last = propertyRuns(200);
    for (let n = 2; n <= last; n += 1) await place.take(await requestFor(n, site(n)));
    rolling = false;
    await Promise.all(readers);
    expect(missed).toEqual([]);
    expect(walks).toBeGreaterThan(20);
    expect(await keys()).toEqual([
      '.docferry-site.json',
      `app-${last - 1}.js`,
      `app-${last}.js`,
      'index.html',
      `page-${last - 1}.html`,
      `page-${last}.html`,
      'robots.txt',
    ]);
  });

  it('goes on after any step at which it was cut off, whatever version follows', async () => {
    const one = { 'index.html': '1', 'a.html': 'A', 'same.js': 's', 'gone.js': 'g' };
    const two = { 'index.html': '2', 'a.html': 'B', 'same.js': 's', 'new.js': 'n' };
    const three = { 'index.html': '3', 'a.html': 'A', 'same.js': 's' };
    let isCutOff = true;
    for (let step = 1; isCutOff; step += 1) {
      const { place, keys, read } = scene();
      await place.take(await requestFor(1, one));
      let asked = 0;
      const guard = async () => {
        asked += 1;
        if (asked === step) throw new Error('cut off');
      };
      isCutOff = await place.take({ ...(await requestFor(2, two)), guard }).then(
        () => false,
        () => true,
      );
      if (isCutOff && step > 1)
        expect(await place.observe()).toMatchObject({ runs: 'unknown', why: expect.stringContaining('has not ended') });
      await place.take(await requestFor(3, three));
      for (const [path, content] of Object.entries(three)) expect(await read(path), `${step} ${path}`).toBe(content);
      await place.take(await requestFor(4, three));
      expect(await keys(), `${step}`).toEqual(['.docferry-site.json', 'a.html', 'index.html', 'same.js']);
    }
  });

  it('takes nothing for a file of an earlier version that a rollout which was cut off may have overwritten', async () => {
    const { place, read } = scene();
    const one = { 'index.html': '1', 'a.html': 'A' };
    await place.take(await requestFor(1, one));
    let asked = 0;
    const guard = async () => {
      asked += 1;
      if (asked === 3) throw new Error('cut off');
    };
    const two = await requestFor(2, { 'index.html': '2', 'a.html': 'B' });
    await expect(place.take({ ...two, guard })).rejects.toThrow('cut off');
    expect(await read('a.html')).toBe('B');
    await place.take(await requestFor(3, { 'index.html': '3' }));
    await place.take(await requestFor(1, one));
    expect(await read('a.html')).toBe('A');
  });

  it('names the right that it has lost half-way, while readers keep the page before, and goes on with it', async () => {
    const { place, location, read } = scene();
    const site = (n: number) => ({ 'index.html': `${n}`, 'a.html': `${n}`, 'a.js': `${n}` });
    await place.take(await requestFor(1, site(1)));
    const endpoint = await behind((writes) => (writes > 2 ? [403, 'AccessDenied'] : null));
    await expect(new BucketPlace({ ...location, endpoint }).take(await requestFor(2, site(2)))).rejects.toMatchObject({
      name: 'TargetRefused',
      mayPass: false,
      message: expect.stringMatching(/denies access \(AccessDenied\): allow s3:PutObject for the bucket/),
    });
    expect([await read('a.js'), await read('index.html')]).toEqual(['2', '1']);
    expect(await place.observe()).toMatchObject({ runs: 'unknown', why: expect.stringContaining('has not ended') });
    await place.take(await requestFor(2, site(2)));
    expect(await place.observe()).toMatchObject({ runs: 'version', version: versionAt(2) });
    expect([await read('a.html'), await read('index.html')]).toEqual(['2', '2']);
  });

  it('gets every file there in one attempt where the store refuses or cuts off some writes once', async () => {
    const { location, read } = scene();
    const unwell = await behind((writes, method) => {
      if (method !== 'PUT') return null;
      if (writes % 50 === 0) return [503, 'SlowDown'];
      // The second is that of the large file, after the marker.
      return writes % 50 === 2 ? 'reset' : null;
    });
    const pages = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`p/${n}.html`, `page ${n}`]));
    const files: Record<string, string> = { ...pages, 'large.js': 'x'.repeat(9 * 1024 ** 2), 'index.html': '1' };
    const place = new BucketPlace({ ...location, endpoint: unwell });
    expect(await place.take(await requestFor(1, files))).toContain('(122 files written, 0 removed)');
    for (const [path, content] of Object.entries(files)) expect((await read(path)) === content, path).toBe(true);
  });

  it.each(['.docferry-site.json', 'docs/.docferry-site.json'])(
    'refuses a site with a file in the place of a marker, before it writes anything: %s',
    async (path) => {
      const { place } = scene();
      const request = await requestFor(1, { 'index.html': '1', [path]: '{}' });
      await expect(place.take(request)).rejects.toMatchObject({
        name: 'TargetRefused',
        mayPass: false,
        message: expect.stringContaining('the site has a file .docferry-site.json'),
      });
      expect(await place.observe()).toMatchObject({ runs: 'none' });
    },
  );

  it.each(['docs', 'docs/v2'])(
    'never touches what lies in a prefix of another site within its own: %s',
    async (within) => {
      const { place, location, keys, read } = scene();
      const inner = new BucketPlace({ ...location, prefix: `${location.prefix}/${within}` });
      const outer = { 'index.html': '1', 'a.html': 'a' };
      await place.take(await requestFor(1, { ...outer, [`${within}/index.html`]: 'outer' }));
      await place.take(await requestFor(2, outer));
      const theirs = await requestFor(1, { 'index.html': 'inner', 'guide/a.html': 'inner' });
      await inner.take({ ...theirs, domain: 'blog.acme.example' });
      const before = await keys();
      const refused = {
        name: 'TargetRefused',
        mayPass: false,
        message: expect.stringMatching(
          new RegExp(
            `^${within}/[a-z/]+\\.html lies within the site blog.acme.example in .*a bucket or prefix of its own`,
          ),
        ),
      };
      // Version 3 would remove what version 1 had there.
      for (const files of [
        { ...outer, [`${within}/guide/a.html`]: '3' },
        { ...outer, 'a.html': 'b' },
      ]) {
        await expect(place.take(await requestFor(3, files))).rejects.toMatchObject(refused);
      }
      expect(await keys()).toEqual(before);
      expect([await read(`${within}/index.html`), await read('a.html')]).toEqual(['inner', 'a']);
      expect(await place.observe()).toMatchObject({ runs: 'version', version: versionAt(2) });
    },
  );

  it('leaves a site alone that lies within its own prefix and in its way nowhere', async () => {
    const { place, location, read } = scene();
    const inner = new BucketPlace({ ...location, prefix: `${location.prefix}/docs` });
    await inner.take({ ...(await requestFor(1, { 'index.html': 'inner' })), domain: 'blog.acme.example' });
    await place.take(await requestFor(1, { 'index.html': '1', 'docs.html': 'd', 'docs-2/index.html': 'd' }));
    await place.take(await requestFor(2, { 'index.html': '2' }));
    await place.take(await requestFor(3, { 'index.html': '3' }));
    expect([await read('docs/index.html'), await read('index.html')]).toEqual(['inner', '3']);
  });

  it('is refused with a prefix of another site or of a bundle store, and with a damaged marker', async () => {
    const { place, at, location } = scene();
    const request = await requestFor(1, { 'index.html': '1' });
    await place.take({ ...request, domain: 'blog.acme.example' });
    await expect(place.take(request)).rejects.toMatchObject({
      name: 'TargetRefused',
      message: expect.stringContaining('has the site blog.acme.example: give each site a bucket or prefix of its own'),
    });
    await server.client.send(new PutObjectCommand({ ...at('.docferry-site.json'), Body: '{' }));
    await expect(place.take(request)).rejects.toMatchObject({
      message: expect.stringContaining('is damaged: remove it'),
    });
    await server.client.send(new DeleteObjectCommand(at('.docferry-site.json')));
    await server.client.send(new PutObjectCommand({ ...at('.store.json'), Body: '{}' }));
    await expect(place.take(request)).rejects.toMatchObject({ message: expect.stringContaining('is a bundle store') });
    const elsewhere = new BucketPlace({ ...location, bucket: 'nowhere' });
    await expect(elsewhere.take(request)).rejects.toMatchObject({
      name: 'TargetRefused',
      message: expect.stringContaining('bucket of the target'),
    });
    expect(await elsewhere.observe()).toMatchObject({
      runs: 'unknown',
      why: expect.stringContaining('does not exist'),
    });
  });
});
