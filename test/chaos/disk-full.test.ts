import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { TargetRefused } from '../../src/exports/rollout/rollout-target.ts';
import { StoreNotWritable } from '../../src/exports/store/bundle-store.ts';
import { type Publication, publishOnce, siteDomain } from '../tools/chaos/publishing.ts';
import { PublishingScene } from './publishing-scene.ts';

/**
 * The disk fills up at every point of a publication (P2): a small tmpfs is left a number of free 4 KiB pages, one more
 * each time, until the publication fits. The old version serves, the error names the disk and what to do, nothing half
 * done remains, and with space again the same run succeeds.
 */

const size = 4 * 1024 ** 2;
const disk = await mkdtemp(join(tmpdir(), 'docferry-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk]).status === 0;
if (!mounted) process.stderr.write('tests of a full disk are SKIPPED: a tmpfs can only be mounted by root\n');

afterAll(async () => {
  if (mounted) spawnSync('umount', ['-l', disk]);
  await rm(disk, { recursive: true, force: true });
});

const filler = join(disk, 'filler');

/** Fills the disk until this many bytes are free. */
async function fillUpTo(free: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk);
  const most = bavail * bsize - free;
  await writeFile(filler, Buffer.alloc(Math.max(0, most)));
}

/** The version, or the error. */
async function outcomeOf(publication: Publication): Promise<unknown> {
  return publishOnce(publication).catch((error: unknown) => error);
}

afterEach(async () => {
  for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true, force: true });
});

describe.skipIf(!mounted)('a full disk (P2)', () => {
  it('under the store and its staging folder', async () => {
    await using scene = await PublishingScene.make((folder) => {
      const directory = join(disk, 'bundles');
      return { kind: 'directory', directory, publicUrl: `http://localhost/${folder.length}`, signing: null };
    });
    await expectOldServesAtEveryPoint(scene, (error) => {
      expect(error).toBeInstanceOf(StoreNotWritable);
      expect(String(error)).toMatch(
        /the bundle store \S+ is on a disk that is full \((ENOSPC|SQLITE_FULL|SQLITE_\w+)\): free/,
      );
    });
  }, 300_000);

  it('under the folder target', async () => {
    await using scene = await PublishingScene.make(
      (folder) => ({ kind: 'directory', directory: `${folder}-bundles`, publicUrl: 'http://localhost', signing: null }),
      disk,
    );
    await expectOldServesAtEveryPoint(scene, (error) => {
      expect(error).toBeInstanceOf(TargetRefused);
      expect(String(error)).toMatch(/\S+ is on a disk that is full \(ENOSPC\): free some space/);
    });
  }, 300_000);
});

describe.skipIf(!mounted)('folders on other file systems (P4)', () => {
  it('of the store are refused', async () => {
    await using scene = await PublishingScene.make((folder) => ({
      kind: 'directory',
      directory: join(folder, 'bundles'),
      publicUrl: 'http://localhost',
      signing: null,
    }));
    await publishOnce(await scene.next());
    const staging = join(scene.folder, 'bundles', '.staging');
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', staging]).status).toBe(0);
    const publication = await scene.next();
    try {
      expect(String(await outcomeOf(publication))).toMatch(
        /lies on several file systems \(EXDEV\): put all of it on one/,
      );
      await scene.expectWhole();
    } finally {
      spawnSync('umount', ['-l', staging]);
    }
    await scene.expectRepeated(publication);
  }, 60_000);
});

async function expectOldServesAtEveryPoint(
  scene: PublishingScene,
  expectClear: (error: unknown) => void,
): Promise<void> {
  await publishOnce(await scene.next());
  const watcher = await scene.watching();
  let full = 0;
  for (let free = 0, fits = false; !fits; free += 4096) {
    const before = await scene.store.current(siteDomain);
    const publication = await scene.next(40_000);
    await fillUpTo(free);
    const outcome = await outcomeOf(publication);
    fits = typeof outcome === 'string';
    if (!fits) {
      full += 1;
      expectClear(outcome);
      await scene.expectWhole();
    }
    await rm(filler);
    if (!fits && full % 2 === 0) {
      // The run is abandoned: its staged files go, the version before still serves.
      await scene.store.discardStaged(publication.stageId);
      await scene.expectNothingLeft();
      expect((await scene.store.current(siteDomain))?.epoch).toBeGreaterThanOrEqual(before?.epoch ?? 0);
    } else {
      await scene.expectRepeated(publication);
    }
  }
  const seen = await watcher.seen();
  expect(seen.problems).toEqual([]);
  expect(full).toBeGreaterThan(3);
  process.stderr.write(
    `  full at ${full} points; meanwhile ${seen.looks} looks, ${seen.visits} visits of the folder\n`,
  );
}
