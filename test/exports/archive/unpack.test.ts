import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type PackedFiles, unpack } from '../../../src/exports/archive/unpack.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';
import { smallSite, tar, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const limits = { maxBytes: 10_000_000, maxFiles: 100, maxRatio: 10_000 };
const site = [...smallSite, { name: 'video.mp4', content: Buffer.alloc(5_000_000) }];

describe.each([
  ['tar', tar],
  ['tar.gz', tarGz],
  ['zip', zip],
] as const)('unpacking a %s', (_format, build) => {
  async function unpackedWith(change: (files: PackedFiles['files']) => PackedFiles['files']) {
    const archive = join(await tempFolder(), 'archive');
    const folder = await tempFolder();
    await writeFile(archive, build(site));
    const report = await verifyArchive(archive, { limits });
    if (report.archive === null) throw new Error(JSON.stringify(report.reasons));
    const manifest = { archive: report.archive, files: change(report.entries) };
    let written = 0;
    const onProgress = () => {
      written += 1;
    };
    const outcome = await unpack(archive, manifest, folder, { onProgress }).then(
      () => 'unpacked',
      (error: Error) => error.name,
    );
    return { outcome, written, files: (await readdir(folder)).sort() };
  }

  it('writes every file that the manifest lists', async () => {
    const { outcome, files } = await unpackedWith((listed) => listed);
    expect({ outcome, files }).toEqual({
      outcome: 'unpacked',
      files: ['assets', 'guide', 'index.html', 'video.mp4'],
    });
  });

  it.each([
    ['grows past its listed size', (bytes: number) => bytes - 1],
    ['stays below its listed size', (bytes: number) => bytes + 1],
  ])('stops before it writes a file that %s', async (_what, size) => {
    const before = await unpackedWith((listed) => listed.filter(({ path }) => path !== 'video.mp4'));
    const { outcome, written, files } = await unpackedWith((listed) =>
      listed.map((file) => (file.path === 'video.mp4' ? { ...file, bytes: size(file.bytes) } : file)),
    );
    expect(outcome).toBe('UnpackMismatch');
    expect(files).not.toContain('video.mp4');
    expect(written).toBe(before.written);
  });

  it('stops at a file that the manifest does not list', async () => {
    const { outcome, files } = await unpackedWith((listed) => listed.filter(({ path }) => path !== 'video.mp4'));
    expect({ outcome, files }).toEqual({ outcome: 'UnpackMismatch', files: ['assets', 'guide', 'index.html'] });
  });

  it('refuses a file with other content than the manifest lists', async () => {
    const { outcome } = await unpackedWith((listed) => listed.map((file) => ({ ...file, sha256: '0'.repeat(64) })));
    expect(outcome).toBe('UnpackMismatch');
  });
});
