import { appendFile, chmod, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { Database } from '../../../src/sqlite.ts';
import { sealOfStaged, siteDomain, stage } from '../../tools/bundle/staged.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const v1 = '20261121T040200Z-aaaaaaaaaaaa';
const now = new Date('2026-11-23T00:00:00Z');

async function makeStore() {
  const root = join(await tempFolder(), 'bundles');
  const open = () => DirectoryBundleStore.open({ root, publicUrl: 'http://localhost:8090/' });
  return { root, open, store: await open() };
}

const filesBelow = async (root: string) => (await readdir(root, { recursive: true })).sort();

describe('DirectoryBundleStore', () => {
  it('shows nothing when publishing fails: bytes changed after verification, archive gone, nothing staged', async () => {
    const { root, store } = await makeStore();
    await stage(store, 'run-1');
    await appendFile(await store.stagingFile('run-1'), 'x');
    await expect(store.publish('run-1', v1, sealOfStaged())).rejects.toMatchObject({ name: 'StagedChanged' });
    await rm(await store.stagingFile('run-1'));
    await expect(store.publish('run-1', v1, sealOfStaged())).rejects.toMatchObject({ name: 'StagedChanged' });
    await expect(store.publish('run-2', v1, sealOfStaged())).rejects.toMatchObject({ name: 'StagedChanged' });
    expect(await store.versions(siteDomain)).toEqual([]);
    expect(await filesBelow(join(root, '.staging'))).toEqual(['run-1', 'run-1/staged.json']);
  });

  it('is not changed by a writer that still has the staged file open', async () => {
    const { store } = await makeStore();
    await stage(store, 'run-1');
    await store.publish('run-1', v1, sealOfStaged());
    await truncate(await store.stagingFile('run-1'), 0);
    expect(await store.withArchive(siteDomain, v1, (path) => readFile(path, 'utf8'))).toBe('archive bytes');
  });

  it('survives the half-written files of a killed publisher', async () => {
    const { root, store } = await makeStore();
    await stage(store, 'run-1');
    await mkdir(join(root, '.staging', 'run-1', 'version.1-abc.tmp'));
    await writeFile(join(root, '.staging', 'run-1', 'version.1-abc.tmp', 'bundle.tar.gz'), 'half');
    await mkdir(join(root, siteDomain, 'versions'), { recursive: true });
    await writeFile(join(root, siteDomain, 'current.json.1-abc.tmp'), '{"vers');
    expect(await store.current(siteDomain)).toBeNull();
    await store.publish('run-1', v1, sealOfStaged());
    await store.discardStaged('run-1');
    await store.moveCurrent(siteDomain, v1, 0, now);
    expect((await store.versions(siteDomain)).map(({ version }) => version)).toEqual([v1]);
    expect(await readdir(join(root, '.staging'))).toEqual([]);
  });

  it('waits for another process that has the lock', async () => {
    const { root, store } = await makeStore();
    await stage(store, 'run-1');
    await store.publish('run-1', v1, sealOfStaged());
    const other = new Database(join(root, '.lock'));
    other.exec('BEGIN EXCLUSIVE');
    const moving = store.moveCurrent(siteDomain, v1, 0, now);
    expect(await Promise.race([moving, new Promise((done) => setTimeout(done, 50, 'waiting'))])).toBe('waiting');
    expect(await store.current(siteDomain)).toBeNull();
    other.close();
    expect(await moving).toMatchObject({ epoch: 1 });
  });

  it('is read where it cannot be written', async () => {
    const { root, open, store } = await makeStore();
    await stage(store, 'run-1');
    await store.publish('run-1', v1, sealOfStaged());
    const folders = [join(root, '..'), root, join(root, '.staging'), join(root, siteDomain)];
    for (const folder of folders) await chmod(folder, 0o555);
    onTestFinished(async () => {
      for (const folder of folders) await chmod(folder, 0o755);
    });
    // To root every folder is writable.
    if (process.geteuid?.() === 0) process.seteuid?.(65534);
    try {
      const readOnly = await open();
      expect((await readOnly.versions(siteDomain)).map(({ version }) => version)).toEqual([v1]);
      expect(await readOnly.current(siteDomain)).toBeNull();
      await expect(readOnly.checkWritable()).rejects.toMatchObject({ name: 'StoreNotWritable' });
      await expect(readOnly.moveCurrent(siteDomain, v1, 0, now)).rejects.toMatchObject({ name: 'StoreNotWritable' });
    } finally {
      if (process.getuid?.() === 0) process.seteuid?.(0);
    }
  });

  it('names the folder that it cannot write to', async () => {
    const file = join(await tempFolder(), 'file');
    await writeFile(file, '');
    for (const root of [file, join(file, 'below')]) {
      await expect(DirectoryBundleStore.open({ root, publicUrl: 'http://x' })).rejects.toMatchObject({
        name: 'StoreNotWritable',
        message: expect.stringContaining(root),
      });
    }
  });
});
