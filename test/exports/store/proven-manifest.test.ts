import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeStep } from '../../../src/exports/rollout/roll-out-version.ts';
import { versionName } from '../../../src/exports/rules/site-export.ts';
import type { BundleStore, Manifest } from '../../../src/exports/store/bundle-store.ts';
import { VersionDamaged } from '../../../src/exports/store/bundle-store.ts';
import { provenManifest, toJson } from '../../../src/exports/store/manifests.ts';
import { unguarded } from '../../tools/bundle/place.ts';
import { filesOf, publish, siteDomain, stagedManifest } from '../../tools/bundle/staged.ts';
import { backends } from '../../tools/bundle/store-backends.ts';

const named = (day: number, content: string) =>
  versionName(Date.UTC(2026, 10, day), stagedManifest(content, filesOf(content)).contentDigest);
const [older, newer] = [named(21, 'one'), named(22, 'two')];
const elsewhere = 'docs.other.example';
const manifestOf = (domain: string, version: string) => `${domain}/versions/${version}/manifest.json`;

/** What a target was given, by rolling out `older`. */
async function rolledOut(bundles: BundleStore): Promise<Manifest[]> {
  const given: Manifest[] = [];
  const target = {
    name: 'directory:./site',
    run: {
      take: async ({ manifest }: { manifest: Manifest }) => {
        given.push(manifest);
        return 'done';
      },
    },
  };
  await takeStep({ bundles, domain: siteDomain, version: older, target, step: 'run', force: true, ...unguarded }).catch(
    (error: unknown) => {
      if (!(error instanceof VersionDamaged)) throw error;
    },
  );
  return given;
}

for (const backend of backends) {
  describe.skipIf(!backend.available)(`a manifest that was exchanged: ${backend.kind}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    it('is neither used nor rolled out: another version, another site, other files, other content (E10)', async () => {
      const { store, read, write } = await backend.scene();
      await publish(store, older, 'one');
      const manifest = await provenManifest(store, siteDomain, older);
      const other = await publish(store, newer, 'two');
      expect(await rolledOut(store)).toEqual([manifest]);
      const written = await read(manifestOf(siteDomain, older));

      const exchanged: [Manifest | string, string][] = [
        [
          { ...other, archive: manifest.archive },
          'manifest.json belongs to another version; its content digest is not',
        ],
        [{ ...manifest, source: { ...manifest.source, domain: elsewhere } }, 'manifest.json belongs to another site'],
        [{ ...manifest, files: other.files }, 'the files in manifest.json do not have its content digest'],
        [
          { ...manifest, files: other.files, contentDigest: other.contentDigest },
          'its content digest is not the one in its name',
        ],
        ['{}', 'manifest.json is damaged'],
      ];
      for (const [planted, message] of exchanged) {
        const text = typeof planted === 'string' ? planted : toJson(planted);
        await write(manifestOf(siteDomain, older), text);
        await expect(provenManifest(store, siteDomain, older)).rejects.toThrow(message);
        await expect(provenManifest(store, siteDomain, older)).rejects.toBeInstanceOf(VersionDamaged);
        expect(await rolledOut(store)).toEqual([]);
      }
      await write(manifestOf(siteDomain, older), written);
      expect(await rolledOut(store)).toEqual([manifest]);
    });
  });
}
