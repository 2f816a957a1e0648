import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type DownloadOptions, download } from '../../../src/bundle/download/download.ts';
import { freeBytes } from '../../../src/bundle/download/free-space.ts';
import { type Handler, randomObject, serve, store } from '../../tools/bundle/object-server.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const mb = 1_000_000;
const object = randomObject(3 * mb);

const mounted: string[] = [];
afterEach(() => {
  for (const folder of mounted.splice(0)) spawnSync('umount', [folder]);
});

/** A file system of this size in bytes; null where this user may not mount one. */
async function smallDisk(bytes: number): Promise<string | null> {
  const folder = await tempFolder();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
  if (status !== 0) return null;
  mounted.push(folder);
  return folder;
}

function optionsIn(folder: string): DownloadOptions {
  const policy = { allowInsecure: true, linkHosts: ['127.0.0.1'] };
  return { file: join(folder, 'archive'), policy, maxBytes: 1_000 * mb, retryDelayMs: 1 };
}

describe('room for a download', () => {
  it('is checked before the first byte, by the length from the source', async () => {
    const server = await serve(store(object));
    const folder = await tempFolder();
    const options = { ...optionsIn(folder), freeBytes: async () => 5 * mb };
    await expect(download(server.links, options)).rejects.toMatchObject({
      name: 'NoRoom',
      message:
        `66.9 MiB are needed in ${folder} and 4.8 MiB are free: make room, or put the bundle store (store.bundles) on a ` +
        'larger disk',
    });
  });

  it('is checked by the length from the service where the source sends none', async () => {
    const unknown: Handler = (_request, response) => void response.writeHead(200).end(object.bytes);
    const server = await serve(unknown);
    const options = { ...optionsIn(await tempFolder()), freeBytes: async () => 100 * mb };
    const links = async () => ({ ...(await server.links()), sizeBytes: 900 * mb });
    await expect(download(links, options)).rejects.toMatchObject({ name: 'NoRoom' });
    await expect(download(server.links, options)).resolves.toMatchObject({ bytes: object.bytes.length });
  });

  it('is checked while bytes arrive', async () => {
    const slow: Handler = (_request, response) => {
      response.writeHead(200, { etag: object.etag, 'content-length': object.bytes.length });
      response.write(object.bytes.subarray(0, 1_000));
    };
    const server = await serve(slow);
    const free = [1_000 * mb, 60 * mb];
    const options = { ...optionsIn(await tempFolder()), freeBytes: async () => free.shift() ?? 60 * mb };
    await expect(download(server.links, options)).rejects.toMatchObject({ name: 'NoRoom' });
    expect(server.requests).toHaveLength(1);
  });

  it('may be unknown', async () => {
    const server = await serve(store(object));
    const options = { ...optionsIn(await tempFolder()), freeBytes: () => Promise.reject(new Error('no statfs')) };
    await expect(download(server.links, options)).resolves.toMatchObject({ bytes: object.bytes.length });
  });

  it('is what the system reports', async ({ skip }) => {
    const disk = await smallDisk(8 * mb);
    if (disk === null) return skip('needs the right to mount a file system');
    const before = await freeBytes(disk);
    expect(before).toBeGreaterThan(7 * mb);
    await writeFile(join(disk, 'x'), Buffer.alloc(4 * mb));
    expect(await freeBytes(disk)).toBeLessThanOrEqual(before - 4 * mb);
  });

  it('may still run out half-way: a clear failure, and no partial file counts as complete', async ({ skip }) => {
    const disk = await smallDisk(mb);
    if (disk === null) return skip('needs the right to mount a file system');
    const server = await serve(store(object));
    const options = { ...optionsIn(disk), freeBytes: async () => 1_000 * mb };
    await expect(download(server.links, options)).rejects.toMatchObject({
      name: 'NoRoom',
      message: `the disk of ${disk} is full: make room`,
    });
    expect(existsSync(options.file)).toBe(true);
    expect(await readdir(disk)).toEqual(['archive', 'archive.resume']);
    // With room again, the next call resumes.
    spawnSync('mount', ['-o', `remount,size=${8 * mb}`, disk]);
    const result = await download(server.links, options);
    expect(result.bytes).toBe(object.bytes.length);
    expect(result.resumedFrom).toHaveLength(1);
  });
});
