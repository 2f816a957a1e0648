import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { rangeOf, startBundleServer } from '../../../src/exports/server/bundle-server.ts';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { S3BundleStore } from '../../../src/exports/store/s3-store.ts';
import type { RunningServer } from '../../../src/http-server.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';
import { publish, siteDomain } from '../../tools/bundle/staged.ts';
import { backends, s3Backend, s3Server } from '../../tools/bundle/store-backends.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { cuttingProxy } from '../../tools/proxies/cutting-proxy.ts';

const version = '20261121T040200Z-aaaaaaaaaaaa';
const bytes = Buffer.from('0123456789');
const etag = `"${sha256(bytes)}"`;
const servers: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function serving(source: Parameters<typeof startBundleServer>[0]): Promise<string> {
  const server = await startBundleServer(source);
  servers.push(server);
  return server.url;
}

const requests: [method: string, file: string, headers: Record<string, string>][] = [
  ['GET', 'bundle.tar.gz', {}],
  ['HEAD', 'bundle.tar.gz', {}],
  ['GET', 'manifest.json', {}],
  ['HEAD', 'manifest.json', {}],
  ['GET', 'bundle.zip', {}],
  ['POST', 'bundle.tar.gz', {}],
  ...['0-', '3-', '9-', '0-0', '2-4', '5-99', '-3'].map((range): (typeof requests)[number] => [
    'GET',
    'bundle.tar.gz',
    { range: `bytes=${range}` },
  ]),
  ['GET', 'bundle.tar.gz', { range: 'bytes=10-' }],
  ['GET', 'bundle.tar.gz', { range: 'bytes=99-100' }],
  ['GET', 'bundle.tar.gz', { range: 'lines=1-2' }],
  ['GET', 'bundle.tar.gz', { range: 'bytes=2-4', 'if-range': etag }],
  ['GET', 'bundle.tar.gz', { range: 'bytes=2-4', 'if-range': '"other"' }],
  ['GET', 'bundle.tar.gz', { range: 'bytes=2-4', 'if-match': etag }],
  ['GET', 'bundle.tar.gz', { 'if-match': '"other"' }],
  ['GET', 'bundle.tar.gz', { 'if-match': '*' }],
  ['GET', 'bundle.tar.gz', { 'if-none-match': etag }],
  ['GET', 'bundle.tar.gz', { 'if-none-match': `W/${etag}, "other"` }],
  ['GET', 'bundle.tar.gz', { 'if-none-match': '"other"' }],
  ['HEAD', 'bundle.tar.gz', { 'if-none-match': etag }],
];

async function answer(url: string, [method, file, headers]: (typeof requests)[number]) {
  const address = `${url}/${siteDomain}/versions/${version}/${file}`;
  // Without it `fetch` sends Cache-Control: no-cache, which servers may take as a request for the whole object.
  const response = await fetch(address, { method, headers: { 'cache-control': 'max-age=0', ...headers } });
  const shown = ['etag', 'content-range', 'content-length', 'content-type', 'cache-control', 'accept-ranges', 'allow'];
  const said = response.status >= 400 ? ['content-range', 'allow'] : shown;
  return {
    request: [method, file, headers],
    status: response.status,
    body: await response.text(),
    headers: Object.fromEntries(said.map((name) => [name, response.headers.get(name)])),
  };
}

it.each([
  ['bytes=-99', { start: 0, end: 9 }],
  ['bytes=-0', null],
  ['bytes=4-2', undefined],
  ['bytes=0-1,4-5', undefined],
  ['bytes=-', undefined],
  [undefined, undefined],
])('reads the range %j of ten bytes as RFC 9110 does', (header, range) => {
  expect(rangeOf(header, 10)).toEqual(range);
});

for (const backend of backends) {
  describe.skipIf(!backend.available)(`the bundle server before a store: ${backend.kind}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    it('answers like the one that serves a folder', async () => {
      const root = await tempFolder();
      const folder = await DirectoryBundleStore.open({ root, publicUrl: 'http://x' });
      const { store } = await backend.scene();
      for (const one of [folder, store]) await publish(one, version, bytes);
      const expected = await serving({ root, port: 0 });
      const actual = await serving({ store, port: 0 });
      const statuses = new Set<number>();
      for (const request of requests) {
        const wanted = await answer(expected, request);
        statuses.add(wanted.status);
        // Which headers come with a 304 is up to the server.
        if (wanted.status === 304) expect((await answer(actual, request)).status).toBe(304);
        else if (wanted.status >= 400) {
          expect(await answer(actual, request)).toMatchObject({ status: wanted.status, headers: wanted.headers });
        } else expect(await answer(actual, request)).toEqual(wanted);
      }
      expect([...statuses].sort()).toEqual([200, 206, 304, 404, 405, 412, 416]);
    });
  });
}

describe.skipIf(!s3Backend.available)('the bundle server of an unreachable bucket', () => {
  beforeAll(() => s3Backend.start());
  afterAll(() => s3Backend.stop());

  it('answers 503', async () => {
    const { endpoint, bucket } = s3Server();
    const settings = { bucket, prefix: 'away', endpoint, publicUrl: 'http://x', workFolder: await tempFolder() };
    await publish(await S3BundleStore.open(settings), version, bytes);
    const proxy = await cuttingProxy(endpoint, 0, 0);
    try {
      const store = await S3BundleStore.open({ ...settings, endpoint: proxy.url });
      const url = await serving({ store, port: 0 });
      expect((await answer(url, ['GET', 'bundle.tar.gz', {}])).body).toBe('0123456789');
      await proxy.stop();
      expect((await answer(url, ['GET', 'bundle.tar.gz', {}])).status).toBe(503);
    } finally {
      await proxy.stop();
    }
  });
});
