import { appendFile, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { NoSuchVersion, PointerMoved, type StagedManifest } from '../../src/bundle/bundle-store.ts';
import { DirectoryBundleStore } from '../../src/bundle/directory-store.ts';
import { sha256 } from './object-server.ts';
import { tempFolder } from './temp-folder.ts';

const DOMAIN = 'docs.acme.example';
const V1 = '20261121T040200Z-aaaaaaaaaaaa';
const V2 = '20261122T040200Z-bbbbbbbbbbbb';
const NOW = new Date('2026-11-23T00:00:00Z');

async function makeStore() {
  const root = join(await tempFolder(), 'bundles');
  const open = () => DirectoryBundleStore.open({ root, publicUrl: 'http://localhost:8090/' });
  return { root, open, store: await open() };
}

async function stage(store: DirectoryBundleStore, stageId: string, content = 'archive bytes') {
  const bytes = Buffer.from(content);
  const manifest: StagedManifest = {
    contentDigest: sha256(Buffer.from(`digest of ${content}`)),
    archive: { sha256: sha256(bytes), bytes: bytes.length, format: 'tar.gz' },
    pages: 1,
    files: [{ path: 'index.html', bytes: 2, sha256: sha256(Buffer.from('hi')) }],
    source: { org: 'acme', domain: DOMAIN, jobId: 'job_1' },
  };
  await writeFile(await store.stagingFile(stageId), bytes);
  await store.saveStaged(stageId, manifest);
  return manifest;
}

const filesBelow = async (root: string) => (await readdir(root, { recursive: true })).sort();

describe('DirectoryBundleStore', () => {
  it('publishes a staged archive under the layout that others read', async () => {
    const { root, store } = await makeStore();
    const staged = await stage(store, 'run-1');
    const manifest = await store.publish('run-1', V1);
    await store.discardStaged('run-1');
    const current = await store.moveCurrent(DOMAIN, V1, 0, NOW);

    expect(manifest).toEqual({ version: V1, ...staged });
    const folder = join(root, DOMAIN, 'versions', V1);
    expect(await readdir(folder)).toEqual(['bundle.tar.gz', 'manifest.json']);
    expect(await readFile(join(folder, 'bundle.tar.gz'), 'utf8')).toBe('archive bytes');
    const text = await readFile(join(folder, 'manifest.json'), 'utf8');
    expect(JSON.parse(text)).toEqual(manifest);
    expect(text).toContain('\n  "version"');
    expect(JSON.parse(await readFile(join(root, DOMAIN, 'current.json'), 'utf8'))).toEqual(current);
    expect(current).toEqual({
      version: V1,
      contentDigest: staged.contentDigest,
      publishedAt: '2026-11-23T00:00:00.000Z',
      epoch: 1,
    });
    expect(await readdir(join(root, '.staging'))).toEqual([]);
    expect(await store.archivePath(DOMAIN, V1)).toBe(join(folder, 'bundle.tar.gz'));
    expect(await store.urlOf(DOMAIN, V1)).toBe(`http://localhost:8090/${DOMAIN}/versions/${V1}/bundle.tar.gz`);
  });

  it('keeps its identity, also when two open it at once', async () => {
    const { root, open, store } = await makeStore();
    expect((await open()).identity).toBe(store.identity);
    await rm(join(root, '.store.json'));
    const ids = await Promise.all(Array.from({ length: 8 }, async () => (await open()).identity));
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).not.toBe(store.identity);
  });

  it('gives the same staging file for the same stage', async () => {
    const { store, open } = await makeStore();
    expect(await (await open()).stagingFile('run-1')).toBe(await store.stagingFile('run-1'));
    await store.discardStaged('run-1');
    await store.discardStaged('never-there');
  });

  it('publishes the same content twice as once, and never changes a version', async () => {
    const { store } = await makeStore();
    await stage(store, 'run-1');
    await stage(store, 'run-2');
    await stage(store, 'run-3', 'other bytes');
    const manifest = await store.publish('run-1', V1);
    expect(await store.publish('run-1', V1)).toEqual(manifest);
    expect(await store.publish('run-2', V1)).toEqual(manifest);
    await expect(store.publish('run-3', V1)).rejects.toMatchObject({ name: 'VersionConflict' });
    expect(await readFile(await store.archivePath(DOMAIN, V1), 'utf8')).toBe('archive bytes');
  });

  it('lets one of many publishers of the same name win, whole', async () => {
    const { store, open } = await makeStore();
    const contents = Array.from({ length: 6 }, (_, n) => `content ${n}`);
    await Promise.all(contents.map((content, n) => stage(store, `run-${n}`, content)));
    const results = await Promise.allSettled(contents.map(async (_, n) => (await open()).publish(`run-${n}`, V1)));
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(won).toHaveLength(1);
    expect(sha256(await readFile(await store.archivePath(DOMAIN, V1)))).toBe(won[0]?.archive.sha256);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ name: 'VersionConflict' });
    }
  });

  it('shows nothing when publishing fails: bytes changed after verification, archive gone, nothing staged', async () => {
    const { root, store } = await makeStore();
    await stage(store, 'run-1');
    await appendFile(await store.stagingFile('run-1'), 'x');
    await expect(store.publish('run-1', V1)).rejects.toMatchObject({ name: 'StagedChanged' });
    await rm(await store.stagingFile('run-1'));
    await expect(store.publish('run-1', V1)).rejects.toMatchObject({ name: 'StagedChanged' });
    await expect(store.publish('run-2', V1)).rejects.toMatchObject({ name: 'StagedChanged' });
    expect(await store.versions(DOMAIN)).toEqual([]);
    expect(await filesBelow(join(root, '.staging'))).toEqual(['run-1', 'run-1/staged.json']);
  });

  it('is not touched by a writer that still holds the staged file', async () => {
    const { store } = await makeStore();
    await stage(store, 'run-1');
    await store.publish('run-1', V1);
    await truncate(await store.stagingFile('run-1'), 0);
    expect(await readFile(await store.archivePath(DOMAIN, V1), 'utf8')).toBe('archive bytes');
  });

  it('survives what a killed publisher left half-written', async () => {
    const { root, store } = await makeStore();
    await stage(store, 'run-1');
    await mkdir(join(root, '.staging', 'run-1', 'version.1-abc.tmp'));
    await writeFile(join(root, '.staging', 'run-1', 'version.1-abc.tmp', 'bundle.tar.gz'), 'half');
    await mkdir(join(root, DOMAIN, 'versions'), { recursive: true });
    await writeFile(join(root, DOMAIN, 'current.json.1-abc.tmp'), '{"vers');
    expect(await store.current(DOMAIN)).toBeNull();
    await store.publish('run-1', V1);
    await store.discardStaged('run-1');
    await store.moveCurrent(DOMAIN, V1, 0, NOW);
    expect((await store.versions(DOMAIN)).map(({ version }) => version)).toEqual([V1]);
    expect(await readdir(join(root, '.staging'))).toEqual([]);
  });

  it('lists whole versions only, newest first', async () => {
    const { root, store } = await makeStore();
    const { contentDigest } = await stage(store, 'run-1');
    await store.publish('run-1', V2);
    await store.publish('run-1', V1);
    const versions = join(root, DOMAIN, 'versions');
    await mkdir(join(versions, '20270101T000000Z-000000000000'));
    await mkdir(join(versions, '.hidden'));
    await store.publish('run-1', '20280101T000000Z-cccccccccccc');
    await truncate(join(versions, '20280101T000000Z-cccccccccccc', 'bundle.tar.gz'), 3);
    await store.publish('run-1', '20290101T000000Z-dddddddddddd');
    await writeFile(join(versions, '20290101T000000Z-dddddddddddd', 'manifest.json'), '{"version":');
    const [newest, ...older] = await store.versions(DOMAIN);
    expect(newest).toEqual({
      version: V2,
      contentDigest,
      publishedAt: '2026-11-22T04:02:00.000Z',
      pages: 1,
      bytes: 13,
      jobId: 'job_1',
    });
    expect(older.map(({ version }) => version)).toEqual([V1]);
    expect(await store.versions('never.example')).toEqual([]);
    await expect(store.manifest(DOMAIN, '20270101T000000Z-000000000000')).rejects.toBeInstanceOf(NoSuchVersion);
    await expect(store.publish('run-1', '20280101T000000Z-cccccccccccc')).rejects.toMatchObject({
      name: 'VersionConflict',
    });
  });

  it('moves the pointer by compare-and-swap', async () => {
    const { store } = await makeStore();
    await stage(store, 'run-1');
    await store.publish('run-1', V1);
    await store.publish('run-1', V2);
    await store.moveCurrent(DOMAIN, V1, 0, NOW);
    await expect(store.moveCurrent(DOMAIN, V2, 0, NOW)).rejects.toBeInstanceOf(PointerMoved);
    expect(await store.moveCurrent(DOMAIN, V1, 0, NOW)).toMatchObject({ version: V1, epoch: 1 });
    expect(await store.moveCurrent(DOMAIN, V2, 1, NOW)).toMatchObject({ version: V2, epoch: 2 });
    expect(await store.moveCurrent(DOMAIN, V1, 2, NOW)).toMatchObject({ version: V1, epoch: 3 });
    await expect(store.moveCurrent(DOMAIN, 'none', 3, NOW)).rejects.toBeInstanceOf(NoSuchVersion);
  });

  it('lets exactly one of many racing movers win', async () => {
    const { store, open } = await makeStore();
    await stage(store, 'run-1');
    const versions = Array.from(
      { length: 12 },
      (_, n) => `2026112${n % 10}T04020${n % 10}Z-${String(n).padStart(12, 'a')}`,
    );
    for (const version of versions) await store.publish('run-1', version);
    const results = await Promise.allSettled(
      versions.map(async (version) => (await open()).moveCurrent(DOMAIN, version, 0, NOW)),
    );
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(won).toEqual([await store.current(DOMAIN)]);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(PointerMoved);
    }
  });

  it('waits for another process that holds the lock', async () => {
    const { root, store } = await makeStore();
    await stage(store, 'run-1');
    await store.publish('run-1', V1);
    const other = new Database(join(root, '.lock'));
    other.exec('BEGIN EXCLUSIVE');
    const moving = store.moveCurrent(DOMAIN, V1, 0, NOW);
    expect(await Promise.race([moving, new Promise((done) => setTimeout(done, 50, 'waiting'))])).toBe('waiting');
    expect(await store.current(DOMAIN)).toBeNull();
    other.close();
    expect(await moving).toMatchObject({ epoch: 1 });
  });

  it('remembers rollouts by target, together with those made at the same time', async () => {
    const { store, open } = await makeStore();
    expect(await store.rolledOut(DOMAIN, 'directory:./site')).toBeNull();
    const targets = ['directory:./site', 'directory:/srv', 'constructor', 'helm:x'];
    await Promise.all(targets.map(async (target, n) => (await open()).recordRollout(DOMAIN, target, `v${n}`)));
    const read = await Promise.all(targets.map((target) => store.rolledOut(DOMAIN, target)));
    expect(read).toEqual(['v0', 'v1', 'v2', 'v3']);
    expect(await store.rolledOut(DOMAIN, 'toString')).toBeNull();
  });

  it.each(['', '.', '..', '../x', 'a/b', 'a\\b', '.hidden', 'a\0b'])('takes %j for no name', async (name) => {
    const { store } = await makeStore();
    await expect(store.current(name)).rejects.toThrow(RangeError);
    await expect(store.manifest(DOMAIN, name)).rejects.toThrow(RangeError);
    await expect(store.stagingFile(name)).rejects.toThrow(RangeError);
  });

  it('says which folder it cannot write to', async () => {
    const file = join(await tempFolder(), 'file');
    await writeFile(file, '');
    for (const root of [file, join(file, 'below')]) {
      await expect(DirectoryBundleStore.open({ root, publicUrl: 'http://x' })).rejects.toMatchObject({
        name: 'StoreNotWritable',
        folder: root,
        message: expect.stringContaining(root),
      });
    }
  });
});
