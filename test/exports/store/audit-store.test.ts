import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { versionName } from '../../../src/exports/rules/site-export.ts';
import { auditStore } from '../../../src/exports/store/verify-store.ts';
import { filesOf, publish, siteDomain, stagedManifest } from '../../tools/bundle/staged.ts';
import { backends, type StoreScene } from '../../tools/bundle/store-backends.ts';

const now = new Date('2026-11-23T00:00:00Z');
const content = (day: number) => `archive of day ${day}`;
const nameOf = (day: number) =>
  versionName(Date.UTC(2026, 10, day), stagedManifest(content(day), filesOf(content(day))).contentDigest);

for (const backend of backends) {
  describe.skipIf(!backend.available)(`auditStore: ${backend.kind}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    async function withVersions(count: number): Promise<StoreScene & { versions: string[] }> {
      const scene = await backend.scene();
      const versions = Array.from({ length: count }, (_, n) => nameOf(n + 1));
      for (const [n, version] of versions.entries()) await publish(scene.store, version, content(n + 1));
      await scene.store.moveCurrent(siteDomain, versions.at(-1) ?? '', 0, now);
      return { ...scene, versions };
    }
    const at = (version: string, file: string) => `${siteDomain}/versions/${version}/${file}`;

    it('finds everything good after publishing, and reports progress', async () => {
      const { store, versions } = await withVersions(2);
      const seen: [bytes: number, totalBytes: number, state: string][] = [];
      const audits = await auditStore(store, [siteDomain], {
        onProgress: ({ bytes, totalBytes, audit }) => seen.push([bytes, totalBytes, audit?.state ?? 'reading']),
      });
      expect(audits).toMatchObject([
        {
          domain: siteDomain,
          current: versions[1],
          reasons: [],
          versions: [
            { version: versions[1], state: 'good', reasons: [] },
            { version: versions[0], state: 'good' },
          ],
        },
      ]);
      const last = seen.at(-1) ?? [0, 1, ''];
      expect(last[0]).toBe(last[1]);
      expect(seen.map(([, , state]) => state)).toEqual(['reading', 'reading', 'good', 'reading', 'reading', 'good']);
    });

    it('names what is partial and what is tampered, and why (P6)', async () => {
      const { store, versions, read, write, remove } = await withVersions(8);
      const [bare, empty, cut, flipped, relisted, torn, renamed, added] = versions as [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ];
      const manifestOf = async (version: string) => JSON.parse((await read(at(version, 'manifest.json'))).toString());
      await remove(at(bare, 'manifest.json'));
      await remove(at(empty, 'bundle.tar.gz'));
      await write(at(cut, 'bundle.tar.gz'), content(3).slice(0, -1));
      await write(at(flipped, 'bundle.tar.gz'), content(4).toUpperCase());
      const relist = { ...(await manifestOf(relisted)), files: filesOf('evil') };
      await write(at(relisted, 'manifest.json'), JSON.stringify(relist));
      await write(at(torn, 'manifest.json'), '{"version":');
      // A complete version under another's name: it agrees with itself, but not with its name.
      const other = { version: renamed, ...stagedManifest('evil', filesOf('evil')) };
      await write(at(renamed, 'manifest.json'), JSON.stringify(other));
      await write(at(renamed, 'bundle.tar.gz'), 'evil');
      await write(at(added, 'shell.php'), '<?php');
      const [audit] = await auditStore(store, [siteDomain]);
      const found = (audit?.versions ?? [])
        .reverse()
        .map(({ version, state, reasons }) => [version, state, ...reasons]);
      expect(found).toEqual([
        [bare, 'partial', 'manifest.json is missing'],
        [empty, 'partial', 'bundle.tar.gz is missing'],
        [cut, 'partial', 'bundle.tar.gz is cut short: 15 of 16 bytes'],
        [flipped, 'tampered', 'bundle.tar.gz is not the archive that was published'],
        [relisted, 'tampered', 'the files in manifest.json do not have its content digest'],
        [torn, 'tampered', 'manifest.json is damaged'],
        [renamed, 'tampered', 'its content digest is not the one in its name'],
        [added, 'tampered', '"shell.php" does not belong there'],
      ]);
    });

    it('checks the pointer too', async () => {
      const { store, versions, read, write, remove } = await withVersions(2);
      const pointerOf = async () =>
        (await auditStore(store, [siteDomain])).map(({ current, reasons }) => [current, ...reasons]);
      const pointer = JSON.parse((await read(`${siteDomain}/current.json`)).toString());
      await write(`${siteDomain}/current.json`, JSON.stringify({ ...pointer, contentDigest: '0'.repeat(64) }));
      expect(await pointerOf()).toEqual([[versions[1], 'current.json names another content digest than its version']]);
      await write(`${siteDomain}/current.json`, '{}');
      expect(await pointerOf()).toEqual([[null, 'current.json is damaged']]);
      await expect(store.current(siteDomain)).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: `${siteDomain}/current.json in the bundle store is damaged`,
      });
      await write(`${siteDomain}/current.json`, JSON.stringify(pointer));
      await remove(at(versions[1] ?? '', 'manifest.json'));
      expect(await pointerOf()).toEqual([[versions[1], 'current.json names a version that is missing or incomplete']]);
    });

    it('leaves out what retention removes meanwhile', async () => {
      const { store, versions } = await withVersions(3);
      const [audit] = await auditStore(store, [siteDomain], {
        onProgress: ({ version, audit: done }) => {
          if (done && version === versions[2]) pruned ??= store.prune(siteDomain, 1);
        },
      });
      expect(await pruned).toHaveLength(2);
      expect(audit?.versions[0]).toMatchObject({ version: versions[2], state: 'good' });
      for (const { state } of audit?.versions ?? []) expect(state).toBe('good');
    });
    let pruned: Promise<string[]> | undefined;
  });
}
