import { spawnSync } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, readlink, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { DirectoryPlace } from '../../../src/exports/rollout/directory-place.ts';
import type { RolloutRequest } from '../../../src/exports/rollout/rollout-target.ts';
import { type Manifest, PointerMoved } from '../../../src/exports/store/bundle-store.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';
import { type Item, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { unguarded, versionOf } from '../../tools/bundle/place.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const someLimits = { maxBytes: 1_000_000, maxFiles: 1000, maxRatio: 1000 };
const versionAt = (day: number) => `202611${String(day).padStart(2, '0')}T000000Z-aaaaaaaaaaaa`;

async function requestFor(
  version: string,
  items?: Item[],
  build = tarGz,
): Promise<RolloutRequest & { archivePath: string }> {
  const archivePath = join(await tempFolder(), 'bundle');
  const site = items ?? [
    { name: 'index.html', content: version },
    { name: 'empty/', type: '5', mode: 0o040755 },
    { name: 'guide/a/b.html', content: `guide of ${version}` },
  ];
  await writeFile(archivePath, build(site));
  const report = await verifyArchive(archivePath, { limits: someLimits });
  if (!report.ok || !report.archive || !report.contentDigest) throw new Error(JSON.stringify(report.reasons));
  const manifest: Manifest = {
    version,
    contentDigest: report.contentDigest,
    archive: report.archive,
    pages: report.pages,
    files: report.entries,
    source: { org: 'acme', domain: 'docs.acme.example', jobId: 'job_1' },
  };
  return {
    domain: 'docs.acme.example',
    manifest,
    archivePath,
    withArchive: (use) => use(archivePath),
    url: 'http://x',
    ...unguarded,
  };
}

async function makeTarget(keep?: number) {
  const path = join(await tempFolder(), 'site');
  const options = { path, ...(keep === undefined ? {} : { keep }) };
  return { path, target: new DirectoryPlace(options), releases: () => readdir(join(path, 'releases')) };
}

describe('DirectoryPlace', () => {
  it.each([
    ['tar.gz', tarGz],
    ['zip', zip],
  ])('unpacks a %s and points a relative link at it', async (_format, build) => {
    const { path, target } = await makeTarget();
    expect(await versionOf(target)).toBeNull();
    const detail = await target.take(await requestFor(versionAt(1), undefined, build));
    expect(detail).toContain(versionAt(1));
    expect(await readlink(join(path, 'current'))).toBe(`releases/${versionAt(1)}`);
    expect(await readFile(join(path, 'current', 'guide', 'a', 'b.html'), 'utf8')).toBe(`guide of ${versionAt(1)}`);
    expect((await lstat(join(path, 'current', 'empty'))).isDirectory()).toBe(true);
    expect(await versionOf(target)).toBe(versionAt(1));
    expect((await readdir(path)).sort()).toEqual(['current', 'releases']);
  });

  it('may be repeated', async () => {
    const { target, releases } = await makeTarget();
    const request = await requestFor(versionAt(1));
    await target.take(request);
    expect(await target.take(request)).toContain('was in service');
    await Promise.all([target.take(request), target.take(await requestFor(versionAt(1)))]);
    expect(await releases()).toEqual([versionAt(1)]);
  });

  it('keeps the newest releases and always the one in service', async () => {
    const { path, target, releases } = await makeTarget(3);
    await mkdir(join(path, 'releases', 'not-ours'), { recursive: true });
    for (const day of [1, 2, 3, 4, 5]) await target.take(await requestFor(versionAt(day)));
    expect(await releases()).toEqual([versionAt(3), versionAt(4), versionAt(5), 'not-ours']);
    await target.take(await requestFor(versionAt(1)));
    expect(await releases()).toEqual([versionAt(1), versionAt(4), versionAt(5), 'not-ours']);
    expect(await versionOf(target)).toBe(versionAt(1));
  });

  it('takes an old release away whole: one whose removal was cut off is unpacked anew by a rollback', async ({
    skip,
  }) => {
    const { path, target } = await makeTarget(1);
    await target.take(await requestFor(versionAt(1)));
    // What is removed of a release ends at a folder that cannot be: as by kill -9, or a disk that fails.
    const busy = join(path, 'releases', versionAt(1), 'guide');
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', busy]).status !== 0) return skip('needs a mount');
    try {
      expect(await target.take(await requestFor(versionAt(2)))).toContain('old releases could not be removed (EBUSY)');
      expect(await target.take(await requestFor(versionAt(1)))).toContain('in service');
      expect(await readFile(join(path, 'current/index.html'), 'utf8')).toBe(versionAt(1));
      expect(await readFile(join(path, 'current/guide/a/b.html'), 'utf8')).toBe(`guide of ${versionAt(1)}`);
    } finally {
      const mounted = (await readdir(join(path, 'releases'))).map((name) => join(path, 'releases', name, 'guide'));
      for (const folder of mounted) spawnSync('umount', [folder]);
    }
  });

  it('removes no release that another attempt has put into service since', async () => {
    const { path, target, releases } = await makeTarget(1);
    await target.take(await requestFor(versionAt(1)));
    // Suspended between its switch and the removal of what is old, while a person rolled back.
    vi.spyOn(target, 'observe').mockResolvedValueOnce({ runs: 'version', version: versionAt(2), since: null });
    await target.take(await requestFor(versionAt(2)));
    expect((await releases()).sort()).toEqual([versionAt(1), versionAt(2)]);
    expect(await readFile(join(path, 'current/index.html'), 'utf8')).toBe(versionAt(1));
  });

  it('puts nothing into service that differs from the manifest', async () => {
    const { path, target, releases } = await makeTarget();
    await target.take(await requestFor(versionAt(1)));
    const good = await requestFor(versionAt(2));
    const [first, ...others] = good.manifest.files;
    if (!first) throw new Error('no files');
    const withFiles = (files: Manifest['files']) => ({ ...good, manifest: { ...good.manifest, files } });
    const withArchive = (path: string): RolloutRequest => ({ ...good, withArchive: (use) => use(path) });
    const evil = join(await tempFolder(), 'evil');
    await writeFile(evil, tarGz([{ name: '../../evil.html', content: 'x' }]));
    const cut = join(await tempFolder(), 'cut');
    await writeFile(cut, (await readFile(good.archivePath)).subarray(0, -20));
    const bad = [
      withFiles([{ ...first, sha256: '0'.repeat(64) }, ...others]),
      withFiles(others),
      withFiles([...good.manifest.files, { path: 'more.html', bytes: 0, sha256: '0'.repeat(64) }]),
      withArchive(evil),
      withArchive(cut),
    ];
    for (const request of bad) await expect(target.take(request)).rejects.toMatchObject({ name: 'UnpackMismatch' });
    expect(await versionOf(target)).toBe(versionAt(1));
    expect(await releases()).toEqual([versionAt(1)]);
    expect(await readdir(path)).toHaveLength(2);
  });

  it('refuses to replace anything but a link (P4)', async () => {
    const { path, target } = await makeTarget();
    await mkdir(join(path, 'current'), { recursive: true });
    await writeFile(join(path, 'current', 'mine.html'), 'mine');
    await expect(target.take(await requestFor(versionAt(1)))).rejects.toMatchObject({
      name: 'TargetRefused',
      message: expect.stringContaining(join(path, 'current')),
    });
    expect(await readFile(join(path, 'current', 'mine.html'), 'utf8')).toBe('mine');
    expect(await versionOf(target)).toBeNull();
  });

  it('reports no version for a foreign or dangling link', async () => {
    const { path, target } = await makeTarget();
    await mkdir(path);
    await symlink('releases/gone', join(path, 'current'));
    expect(await versionOf(target)).toBeNull();
    await target.take(await requestFor(versionAt(1)));
    expect(await versionOf(target)).toBe(versionAt(1));
  });

  it('names the folder that it cannot write to', async () => {
    const file = join(await tempFolder(), 'file');
    await writeFile(file, '');
    const target = new DirectoryPlace({ path: join(file, 'site') });
    await expect(target.take(await requestFor(versionAt(1)))).rejects.toMatchObject({ name: 'TargetRefused' });
  });

  it('stops when aborted, leaving nothing, and removes what killed attempts left', async () => {
    const { path, target, releases } = await makeTarget();
    const abandoned = join(path, 'releases', '.unpacking-old-abc');
    await mkdir(abandoned, { recursive: true });
    await utimes(abandoned, 0, 0);
    await mkdir(join(path, 'releases', '.unpacking-new-abc'));
    const controller = new AbortController();
    const request = { ...(await requestFor(versionAt(1))), signal: controller.signal };
    const reason = new Error('cancelled');
    await expect(target.take({ ...request, onProgress: () => controller.abort(reason) })).rejects.toBe(reason);
    expect(await releases()).toEqual(['.unpacking-new-abc']);
    await target.take(await requestFor(versionAt(1)));
    expect(await releases()).toEqual(['.unpacking-new-abc', versionAt(1)]);
  });

  it('does not go back when a suspended attempt wakes after another version went into service', async () => {
    const { path, target, releases } = await makeTarget();
    let current = versionAt(1);
    const guardFor = (version: string) => async () => {
      if (current !== version) throw new PointerMoved(version);
    };
    const late: RolloutRequest = {
      ...(await requestFor(versionAt(1))),
      // It is suspended while it unpacks, and the next export overtakes it.
      withArchive: async (use) => {
        const result = await use(archive);
        current = versionAt(2);
        await target.take({ ...(await requestFor(versionAt(2))), guard: guardFor(versionAt(2)) });
        return result;
      },
      guard: guardFor(versionAt(1)),
    };
    const { archivePath: archive } = await requestFor(versionAt(1));
    await expect(target.take(late)).rejects.toMatchObject({ name: 'PointerMoved' });
    expect(await readlink(join(path, 'current'))).toBe(`releases/${versionAt(2)}`);
    expect(await readdir(path)).toHaveLength(2);
    expect(await releases()).toEqual([versionAt(1), versionAt(2)]);
  });

  it('asks again when another attempt switches between the question and the answer', async () => {
    const { path, target } = await makeTarget();
    const newer = await requestFor(versionAt(2));
    const answers: boolean[] = [];
    const guard = async () => {
      const wanted = answers.length === 0;
      answers.push(wanted);
      if (!wanted) throw new PointerMoved(versionAt(1));
      // The answer is on its way while the next version is put into service.
      await target.take(newer);
    };
    await expect(target.take({ ...(await requestFor(versionAt(1))), guard })).rejects.toMatchObject({
      name: 'PointerMoved',
    });
    expect(answers).toEqual([true, false]);
    expect(await readlink(join(path, 'current'))).toBe(`releases/${versionAt(2)}`);
  });

  it('always serves a site while switching', async () => {
    const { path, target } = await makeTarget();
    const requests = await Promise.all([1, 2].map((day) => requestFor(versionAt(day))));
    for (const request of requests) await target.take(request);
    const seen = new Set<string>();
    let reads = 0;
    let switching = true;
    const reader = async () => {
      while (switching) {
        seen.add(await readFile(join(path, 'current', 'index.html'), 'utf8'));
        reads += 1;
      }
    };
    const readers = [reader(), reader(), reader()];
    try {
      for (let n = 0; n < 60; n += 1) {
        const request = requests[n % 2];
        if (request) await target.take(request);
      }
    } finally {
      switching = false;
    }
    await Promise.all(readers);
    expect(reads).toBeGreaterThan(60);
    expect([...seen].sort()).toEqual([versionAt(1), versionAt(2)]);
  });
});
