import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createRollbackActivities } from '../../src/activities/export-steps.ts';
import { versionName } from '../../src/exports/rules/site-export.ts';
import { StoreUnreachable } from '../../src/exports/store/bundle-store.ts';
import { sealOf } from '../../src/exports/store/manifests.ts';
import { verifyArchive } from '../../src/exports/verify/verify-archive.ts';
import { type ActivityScene, activityScene, failureOf, mockActivity } from '../tools/activity-dependencies.ts';
import { type Item, tarGz } from '../tools/bundle/build-archive.ts';

const domain = 'docs.acme.example';
const noLimits = { maxBytes: 1e12, maxFiles: 1e9, maxRatio: 1e9 };

let scene: ActivityScene;
afterEach(async () => {
  await scene?.end();
});

/** A store with a version of these files, accepted by the structure alone. */
async function withVersion(items: Item[]) {
  scene = await activityScene();
  const { bundles } = scene.deps;
  const staged = await bundles.stagingFile('run-1');
  await writeFile(staged, tarGz(items));
  const report = await verifyArchive(staged, { limits: noLimits, structureOnly: true });
  const { archive, contentDigest, pages, entries: files } = report;
  if (!archive || !contentDigest) throw new Error('the archive of the test is refused');
  const source = { org: 'acme', domain, jobId: 'job_1' };
  const found = { archive, contentDigest, pages, files, source };
  await bundles.saveStaged('run-1', found);
  const version = versionName(Date.UTC(2026, 11, 1), contentDigest);
  await bundles.publish('run-1', version, sealOf(found));
  const folder = join(scene.folder, 'bundles', domain, 'versions', version);
  const { checkKeptVersion, rollBackTo } = createRollbackActivities(scene.deps);
  const input = { domain, storeId: bundles.identity, version };
  return {
    folder,
    version,
    check: () => mockActivity().run(() => checkKeptVersion(input)),
    rollBack: () => mockActivity().run(() => rollBackTo({ ...input, reason: null, at: 0 })),
  };
}

describe('rollBackTo', () => {
  it('says when it failed after the hold was placed', async () => {
    const { version, rollBack } = await withVersion([{ name: 'index.html', content: '<h1>Home</h1>' }]);
    const { bundles } = scene.deps;
    vi.spyOn(bundles.holds, 'place').mockRejectedValueOnce(new StoreUnreachable('away'));
    vi.spyOn(bundles, 'moveCurrent').mockRejectedValueOnce(new StoreUnreachable('away'));
    expect((await failureOf(rollBack()))?.details ?? []).toEqual([]);
    const failure = await failureOf(rollBack());
    expect(failure).toMatchObject({ type: 'StoreUnavailable', nonRetryable: false, details: ['held'] });
    await rollBack();
    expect(await bundles.current(domain)).toMatchObject({ version });
  });
});

describe('checkKeptVersion', () => {
  it('asks whether the version is what it was, not whether its content would be accepted today', async () => {
    const { check } = await withVersion([{ name: 'data.json', content: '{}' }]);
    expect(await check()).toEqual({ current: null });
  });

  it('accepts as many entries as a version with this many files had, above the default', async () => {
    const folders = 'b/c/d/e/f/g/h/i';
    // Nine folders each: 201,000 entries.
    const deep = Array.from({ length: 20_100 }, (_, n) => ({ name: `${n}/${folders}/x.html` }));
    const { check } = await withVersion(deep);
    expect(await check()).toEqual({ current: null });
  });

  it('says that it is damaged when its archive or its manifest is, and does not try again', async () => {
    const { folder, version, check, rollBack } = await withVersion([{ name: 'index.html', content: '<h1>Home</h1>' }]);
    const damaged = { type: 'VersionDamaged', nonRetryable: true };
    const manifest = await readFile(join(folder, 'manifest.json'), 'utf8');
    for (const text of [manifest.slice(0, 200), '{}', manifest.replace(version, '20261202T000000Z-000000000002')]) {
      await writeFile(join(folder, 'manifest.json'), text);
      expect(await failureOf(check())).toMatchObject(damaged);
      expect(await failureOf(rollBack())).toMatchObject(damaged);
      expect(await scene.deps.bundles.holds.of(domain)).toBeNull();
    }
    await writeFile(join(folder, 'manifest.json'), manifest);
    const archive = await readFile(join(folder, 'bundle.tar.gz'));
    await writeFile(join(folder, 'bundle.tar.gz'), archive.fill(0xff, 20, 24));
    expect(await failureOf(check())).toMatchObject(damaged);
  });
});
