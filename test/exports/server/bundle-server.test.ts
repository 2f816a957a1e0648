import { mkdir, rename, truncate, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ServerSettings, startBundleServer } from '../../../src/exports/server/bundle-server.ts';
import type { StagedManifest } from '../../../src/exports/store/bundle-store.ts';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { sealOf } from '../../../src/exports/store/manifests.ts';
import type { RunningServer } from '../../../src/http-server.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const siteDomain = 'docs.acme.example';
const version = '20261121T040200Z-aaaaaaaaaaaa';
const bytes = Buffer.from('0123456789');
const servers: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function serveVersion(options: Partial<ServerSettings> = {}) {
  const root = join(await tempFolder(), '.data', 'bundles');
  const store = await DirectoryBundleStore.open({ root, publicUrl: 'http://x' });
  await writeFile(await store.stagingFile('run-1'), bytes);
  const staged: StagedManifest = {
    contentDigest: 'c'.repeat(64),
    archive: { sha256: sha256(bytes), bytes: bytes.length, format: 'tar.gz' },
    pages: 0,
    files: [],
    source: { org: 'acme', domain: siteDomain, jobId: 'job_1' },
  };
  await store.saveStaged('run-1', staged);
  await store.publish('run-1', version, sealOf(staged));
  await store.moveCurrent(siteDomain, version, 0, new Date(0));
  const server = await startBundleServer({ root, port: 0, ...options });
  servers.push(server);
  return { root, server, store };
}

/** Sends the path unchanged; `fetch` would normalize it. */
function rawStatus(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject).end();
  });
}

const base = `/${siteDomain}/versions/${version}`;

describe('the bundle server', () => {
  it('says when the store is why a request fails', async () => {
    const failures: unknown[] = [];
    const { root, server } = await serveVersion({ onFailure: (error) => failures.push(error) });
    const address = `${server.url}${base}/bundle.tar.gz`;
    await truncate(join(root, siteDomain, 'versions', version, 'bundle.tar.gz'), 1);
    await expect(fetch(address).then((response) => response.arrayBuffer())).rejects.toThrow();
    expect(failures).toEqual([new Error('there are fewer bytes than the manifest says')]);
  });

  it('serves the bundle as immutable, with its digest as ETag', async () => {
    const { server } = await serveVersion();
    const response = await fetch(`${server.url}${base}/bundle.tar.gz`);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      etag: `"${sha256(bytes)}"`,
      'cache-control': 'public, max-age=31536000, immutable',
      'accept-ranges': 'bytes',
      'content-length': '10',
      'content-type': 'application/gzip',
    });
    expect(response.headers.get('content-encoding')).toBeNull();
  });

  it('serves under the path of publicUrl, and without it for a proxy that takes it away', async () => {
    const { server } = await serveVersion({ publicUrl: 'https://docs.acme.example/pre%20fix/' });
    const status = async (path: string) => (await fetch(`${server.url}${path}`)).status;
    expect(await status(`/pre%20fix${base}/bundle.tar.gz`)).toBe(200);
    expect(await status(`${base}/manifest.json`)).toBe(200);
    expect(await status(`/pre%20fix/pre%20fix${base}/manifest.json`)).toBe(404);
    expect(await status(`/other${base}/manifest.json`)).toBe(404);
  });

  it('serves the manifest', async () => {
    const { server, store } = await serveVersion();
    const response = await fetch(`${server.url}${base}/manifest.json`);
    expect(await response.json()).toEqual(await store.manifest(siteDomain, version));
    expect(response.headers.get('etag')).toMatch(/^"[0-9a-f]{64}"$/);
  });

  it('answers ranges, conditions and HEAD', async () => {
    const { server } = await serveVersion();
    const get = (headers: Record<string, string>, method = 'GET') =>
      fetch(`${server.url}${base}/bundle.tar.gz`, { method, headers });
    const etag = `"${sha256(bytes)}"`;
    const part = await get({ range: 'bytes=3-', 'if-match': etag });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 3-9/10',
      '3456789',
    ]);
    expect((await get({ range: 'bytes=99-' })).status).toBe(416);
    expect((await get({ 'if-match': '"other"' })).status).toBe(412);
    expect((await get({ 'if-none-match': etag, 'cache-control': 'max-age=0' })).status).toBe(304);
    const head = await get({}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
    expect((await get({}, 'POST')).status).toBe(405);
  });

  it('answers 404 for a removed version, whatever was answered before', async () => {
    const { root, server } = await serveVersion();
    const noneMatch = { 'if-none-match': `"${sha256(bytes)}"`, 'cache-control': 'max-age=0' };
    const asked: [method: string, headers: Record<string, string>][] = [
      ['HEAD', {}],
      ['GET', noneMatch],
      ['GET', { 'if-match': '"other"' }],
      ['GET', { range: 'bytes=99-' }],
      ['GET', {}],
    ];
    const folder = join(root, siteDomain, 'versions', version);
    const kept = join(root, 'kept');
    // Each is the first request after the removal.
    for (const [method, headers] of asked) {
      const status = async () => (await fetch(`${server.url}${base}/bundle.tar.gz`, { method, headers })).status;
      expect(await status()).not.toBe(404);
      await rename(folder, kept);
      const gone = await fetch(`${server.url}${base}/bundle.tar.gz`, { method, headers });
      expect([method, headers, gone.status, gone.headers.get('etag')]).toEqual([method, headers, 404, null]);
      await rename(kept, folder);
    }
  });

  it('serves nothing else of the store', async () => {
    const { root, server } = await serveVersion();
    await mkdir(join(root, siteDomain, 'versions', '.tmp'));
    const elsewhere = [
      '/',
      `/${siteDomain}`,
      `/${siteDomain}/`,
      `/${siteDomain}/current.json`,
      `/${siteDomain}/versions/`,
      `${base}`,
      `${base}/`,
      `${base}/bundle.zip`,
      `${base}/other.txt`,
      `${base}/bundle.tar.gz/`,
      `/${siteDomain}/versions/20200101T000000Z-aaaaaaaaaaaa/bundle.tar.gz`,
      '/.store.json',
      '/.staging/run-1/archive',
      `/.staging/versions/run-1/manifest.json`,
      `/${siteDomain}/versions/.tmp/manifest.json`,
      `/${siteDomain}/versions/../current.json`,
      `/${siteDomain}/versions/../versions/${version}/bundle.tar.gz`,
      `/../bundles${base}/bundle.tar.gz`,
      `/%2e%2e/bundles${base}/bundle.tar.gz`,
      `/${siteDomain}%2fversions/${version}/bundle.tar.gz`,
      `${base}/bundle.tar.gz%00`,
      `/${siteDomain}/versions/..%2f..%2f/manifest.json`,
    ];
    for (const path of elsewhere) expect([path, await rawStatus(server.port, path)]).toEqual([path, 404]);
    const refused = await fetch(`${server.url}/`);
    expect(refused.headers.get('cache-control')).toBe('no-store');
    expect(refused.headers.get('etag')).toBeNull();
  });

  it('requires the token, if configured, except for /healthz', async () => {
    const { server } = await serveVersion({ token: 'swordfish' });
    const status = async (authorization?: string) =>
      (await fetch(`${server.url}${base}/bundle.tar.gz`, { headers: authorization ? { authorization } : {} })).status;
    expect(await status()).toBe(401);
    expect(await status('Bearer swordfis')).toBe(401);
    expect(await status('swordfish')).toBe(401);
    expect(await status('Bearer swordfish')).toBe(200);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('with a token, lets no shared cache keep what it serves, and none keep a refusal', async () => {
    const { server } = await serveVersion({ token: 'swordfish' });
    const cached = async (headers: Record<string, string>, path = `${base}/bundle.tar.gz`) => {
      const response = await fetch(`${server.url}${path}`, { headers });
      return [response.status, response.headers.get('cache-control')];
    };
    const authorization = 'Bearer swordfish';
    const own = 'private, max-age=31536000, immutable';
    const unchanged = { 'if-none-match': `"${sha256(bytes)}"`, 'cache-control': 'max-age=0' };
    expect(await cached({ authorization })).toEqual([200, own]);
    expect(await cached({ authorization, range: 'bytes=3-' })).toEqual([206, own]);
    expect(await cached({ authorization, ...unchanged })).toEqual([304, own]);
    expect(await cached({})).toEqual([401, 'no-store']);
    expect(await cached({ authorization }, `${base}/other.txt`)).toEqual([404, 'no-store']);
    expect(await cached({ authorization, 'if-match': '"other"' })).toEqual([412, 'no-store']);
    expect(await cached({ authorization, range: 'bytes=99-' })).toEqual([416, 'no-store']);
  });

  it('listens on loopback only, reports a taken port, and stops when told', async () => {
    const { root, server } = await serveVersion();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    await expect(startBundleServer({ root, port: server.port })).rejects.toMatchObject({
      name: 'PortTaken',
      message: expect.stringContaining(`port ${server.port} on 127.0.0.1 is in use`),
    });
    await server.stop();
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
    const again = await startBundleServer({ root, port: server.port });
    servers.push(again);
    expect((await fetch(`${again.url}/healthz`)).status).toBe(200);
  });
});
