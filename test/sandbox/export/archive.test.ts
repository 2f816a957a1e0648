import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import type { Sandbox } from '../../../sandbox/index.ts';
import { exportSite, getBundle, sandboxWith } from '../support.ts';

type Files = Map<string, Buffer>;

async function download(sandbox: Sandbox, more: Record<string, unknown> = {}): Promise<Buffer> {
  const { bundleUrl } = await exportSite(sandbox, more);
  return Buffer.from(await (await fetch(bundleUrl)).arrayBuffer());
}

async function untar(bytes: Buffer): Promise<Files> {
  const files: Files = new Map();
  const reader = extract();
  reader.end(bytes);
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(Buffer.from(chunk as Uint8Array));
    if (entry.header.type === 'file') files.set(entry.header.name, Buffer.concat(chunks));
  }
  return files;
}

async function unzip(bytes: Buffer): Promise<Files> {
  const files: Files = new Map();
  const zip = await fromBufferPromise(bytes, { lazyEntries: true });
  for await (const entry of zip.eachEntry()) {
    const chunks: Buffer[] = [];
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(Buffer.from(chunk));
    files.set(entry.fileName, Buffer.concat(chunks));
  }
  return files;
}

async function exported(sandbox: Sandbox, more: Record<string, unknown> = {}): Promise<Files> {
  return untar(gunzipSync(await download(sandbox, more)));
}

/** What differs between two exports, by path. */
function changed(before: Files, after: Files): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths.filter((path) => !(before.get(path)?.equals(after.get(path) ?? Buffer.alloc(0)) ?? false));
}

describe('an export', () => {
  it('holds a self-contained site whose links and resources all exist', async () => {
    const files = await exported(await sandboxWith({ pages: 24 }));
    const pages = [...files.keys()].filter((path) => path.endsWith('.html'));
    expect(pages).toHaveLength(25);
    expect(pages).toEqual(
      expect.arrayContaining(['index.html', '404.html', 'guides/page-4.html', 'sprachen/grüße.html']),
    );
    for (const path of ['assets/site.css', 'assets/site.js', 'assets/logo.svg', '_payload/guides/page-4.json']) {
      expect(files.has(path)).toBe(true);
    }
    const linked = new Set<string>();
    for (const page of pages) {
      const html = String(files.get(page));
      const targets = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, target]) =>
        decodeURIComponent(target ?? ''),
      );
      expect(targets.length).toBeGreaterThan(2);
      for (const target of targets) {
        const path = posix.join(posix.dirname(page), target);
        expect(files.has(path), `${page} links to ${path}`).toBe(true);
        linked.add(path);
      }
    }
    expect(pages.filter((page) => !linked.has(page))).toEqual(['404.html']);
  });

  it('of unchanged content has the same files in other bytes', async () => {
    const sandbox = await sandboxWith();
    const [first, second] = [await download(sandbox), await download(sandbox)];
    expect(first.equals(second)).toBe(false);
    const files = await untar(gunzipSync(first));
    expect(changed(files, await untar(gunzipSync(second)))).toEqual([]);
    expect(files.size).toBeGreaterThan(40);
  });

  it('follows what is published, and back', async () => {
    const sandbox = await sandboxWith();
    const before = await exported(sandbox);
    expect(sandbox.publishRevision('docs.acme.example')).toBe(1);
    const after = await exported(sandbox);
    expect(changed(before, after)).toEqual(['reference/api/page-1.html', '_payload/reference/api/page-1.json']);
    sandbox.publishRevision('docs.acme.example', 0);
    expect(changed(before, await exported(sandbox))).toEqual([]);
  });

  it('keeps to the pages asked for, and the index', async () => {
    const files = await exported(await sandboxWith(), { paths: ['/guides/page-4', 'tutorials/page-2'] });
    const pages = [...files.keys()].filter((path) => path.endsWith('.html'));
    expect(pages.toSorted()).toEqual(['404.html', 'guides/page-4.html', 'index.html', 'tutorials/page-2.html']);
    expect(String(files.get('index.html'))).not.toContain('page-1.html');
  });

  it('carries the label it was asked for', async () => {
    const files = await exported(await sandboxWith(), { version: 'v7' });
    expect(JSON.parse(String(files.get('_payload/site.json')))).toMatchObject({ version: 'v7' });
  });

  it('is the same site in every format', async () => {
    const options = { pages: 12, padBytes: 3_000_000 };
    const gzip = await exported(await sandboxWith(options));
    const tar = await untar(await download(await sandboxWith({ ...options, archiveFormat: 'tar' })));
    const zip = await unzip(await download(await sandboxWith({ ...options, archiveFormat: 'zip' })));
    expect(changed(gzip, tar)).toEqual([]);
    expect(changed(gzip, zip)).toEqual([]);
  });

  it('can be padded to a size that no compression shrinks', async () => {
    const sandbox = await sandboxWith({ padBytes: 2_500_001 });
    const archive = await download(sandbox);
    expect(archive.length).toBeGreaterThan(2_500_000);
    const pad = (await untar(gunzipSync(archive))).get('assets/pad.bin');
    expect(pad?.length).toBe(2_500_001);
    expect(gunzipSync(await download(sandbox)).includes(pad ?? 'nothing')).toBe(true);
  });

  it('can be any file instead, under one ETag', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hostile-'));
    try {
      const archiveFile = join(folder, 'bad.zip');
      await writeFile(archiveFile, 'not an archive');
      const sandbox = await sandboxWith({ faults: { archiveFile } });
      const { bundleUrl, jobId, sizeBytes } = await exportSite(sandbox);
      expect(sizeBytes).toBe(14);
      const first = await fetch(bundleUrl);
      expect(await first.text()).toBe('not an archive');
      const again = await getBundle(sandbox, jobId);
      const second = await fetch(again.bundleUrl);
      expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is rendered for each of several jobs at once', async () => {
    const sandbox = await sandboxWith();
    const archives = await Promise.all(Array.from({ length: 5 }, () => download(sandbox)));
    const hashes = archives.map((archive) => createHash('sha256').update(archive).digest('hex'));
    expect(new Set(hashes).size).toBe(5);
  });
});
