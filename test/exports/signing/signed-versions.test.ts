import { readFile, rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { versionName } from '../../../src/exports/rules/site-export.ts';
import { startBundleServer } from '../../../src/exports/server/bundle-server.ts';
import { ManifestSigner } from '../../../src/exports/signing/manifest-signer.ts';
import { SigningKeyUnusable, VersionDamaged } from '../../../src/exports/store/bundle-store.ts';
import { provenManifest } from '../../../src/exports/store/manifests.ts';
import { openBundleStore } from '../../../src/exports/store/open-bundle-store.ts';
import { auditStore } from '../../../src/exports/store/verify-store.ts';
import { filesOf, publish, sealOfStaged, siteDomain, stage, stagedManifest } from '../../tools/bundle/staged.ts';
import { backends } from '../../tools/bundle/store-backends.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { Minisign, minisignProgram } from '../../tools/servers/minisign.ts';

const program = minisignProgram();
const first = '20261121T040200Z-aaaaaaaaaaaa';
/** Named by their content, as `store verify` requires. */
const named = (day: number, content: string) =>
  versionName(Date.UTC(2026, 10, day), stagedManifest(content, filesOf(content)).contentDigest);
const at = (version: string, name: string) => `${siteDomain}/versions/${version}/${name}`;

async function keys(formerKeys: readonly string[] = []) {
  const minisign = new Minisign(program ?? '', await tempFolder());
  await minisign.makeKey('mine');
  const signer = new ManifestSigner({ keyFile: minisign.at('mine.key'), password: null, publicKey: null, formerKeys });
  const publicKey = async () => (await readFile(minisign.at('mine.pub'), 'utf8')).split('\n')[1] ?? '';
  /** What the real minisign says of a published manifest. */
  const verify = async (read: (path: string) => Promise<Buffer>, version: string) => {
    for (const name of ['manifest.json', 'manifest.json.minisig']) {
      await minisign.write(name, await read(at(version, name)));
    }
    return minisign.verify('manifest.json', 'mine');
  };
  return { minisign, signer, publicKey, verify };
}

describe.skipIf(program === null)('a configured public key', () => {
  /** A store that is configured with the key file `mine.key`, or another, and with a public key. */
  async function scene(keyFile = 'mine.key') {
    const { minisign, publicKey } = await keys();
    await minisign.makeKey('other');
    const directory = await tempFolder();
    const open = (file: string, key: string | null) => {
      const signing = { keyFile: minisign.at(file), publicKey: key, password: null, formerKeys: [] };
      return openBundleStore({ kind: 'directory', directory, publicUrl: 'http://bundles.example', signing });
    };
    const mine = await publicKey();
    return { open, mine, store: await open(keyFile, mine) };
  }

  it('verifies versions where the secret key is not', async () => {
    const { open, mine, store } = await scene();
    const version = named(21, 'one');
    const { contentDigest } = await publish(store, version, 'one');
    const reader = await open('nowhere.key', mine);
    expect(await provenManifest(reader, siteDomain, version)).toMatchObject({ contentDigest });
    await expect(provenManifest(await open('nowhere.key', null), siteDomain, version)).rejects.toThrow(/nowhere.key/);
    await expect(reader.checkWritable()).rejects.toThrow(/nowhere.key cannot be read \(ENOENT\)/);
  });

  it('has to be that of the secret key', async () => {
    const { store } = await scene('other.key');
    const wrong = { name: SigningKeyUnusable.name, hint: expect.stringContaining('second line of its .pub file') };
    const message = expect.stringMatching(/other.key is not the one of store.bundles.signing.publicKey$/);
    await expect(store.checkWritable()).rejects.toMatchObject({ ...wrong, message });
    await expect(publish(store, first)).rejects.toMatchObject({ ...wrong, message });
  });
});

for (const backend of backends) {
  describe.skipIf(!backend.available || program === null)(`signed versions: ${backend.kind}`, () => {
    beforeAll(() => backend.start());
    afterAll(() => backend.stop());

    it('carry a signature that the real minisign verifies and that names them', async () => {
      const { open, read } = await backend.scene();
      const { signer, verify } = await keys();
      const { contentDigest } = await publish(await open(signer), first);
      expect(await verify(read, first)).toContain(
        `timestamp:${Date.UTC(2026, 10, 21, 4, 2) / 1000}\tfile:manifest.json\thashed\tdomain:${siteDomain}\tversion:${first}\tdigest:${contentDigest}`,
      );
    });

    it('are good for `store verify`, served with their signature, and removed with it', async () => {
      const { open, files } = await backend.scene();
      const { signer } = await keys();
      const store = await open(signer);
      const [older, newer] = [named(21, 'one'), named(22, 'two')];
      await publish(store, older, 'one');
      expect(await auditStore(store, [siteDomain])).toMatchObject([{ versions: [{ state: 'good' }] }]);
      const server = await startBundleServer({ store, port: 0 });
      try {
        const response = await fetch(`${server.url}/${at(older, 'manifest.json.minisig')}`);
        expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
        expect(response.headers.get('cache-control')).toContain('immutable');
        expect(await response.text()).toMatch(/^untrusted comment: signature of key [0-9A-F]{16}\n/);
      } finally {
        await server.stop();
      }
      await publish(store, newer, 'two');
      expect(await store.prune(siteDomain, 1)).toEqual([older]);
      expect((await files()).filter((path) => path.includes(older))).toEqual([]);
    });

    it('are unsigned where no signature is configured', async () => {
      const { store, files } = await backend.scene();
      await publish(store, first);
      expect((await files()).filter((path) => path.endsWith('.minisig'))).toEqual([]);
      const server = await startBundleServer({ store, port: 0 });
      try {
        expect((await fetch(`${server.url}/${at(first, 'manifest.json.minisig')}`)).status).toBe(404);
      } finally {
        await server.stop();
      }
    });

    it('are not published while the key cannot be used, and are once it can', async () => {
      const { open, files } = await backend.scene();
      const { minisign, signer } = await keys();
      const store = await open(signer);
      const key = await readFile(minisign.at('mine.key'), 'utf8');
      await rm(minisign.at('mine.key'));
      await expect(store.checkWritable()).rejects.toMatchObject({ name: 'SigningKeyUnusable' });
      await stage(store, 'run-1');
      await expect(store.publish('run-1', first, sealOfStaged())).rejects.toThrow(
        /signing key .*mine\.key cannot be read \(ENOENT\)/,
      );
      expect(await store.versions(siteDomain)).toEqual([]);
      expect((await files()).filter((path) => path.endsWith('manifest.json'))).toEqual([]);
      await minisign.write('mine.key', key);
      await store.checkWritable();
      await store.publish('run-1', first, sealOfStaged());
      expect((await files()).filter((path) => path.endsWith('.minisig'))).toEqual([at(first, 'manifest.json.minisig')]);
    });

    it('are used only with a signature of the key, over these bytes (E10)', async () => {
      const { open, read, write, remove } = await backend.scene();
      const [{ signer }, stranger] = [await keys(), await keys()];
      const store = await open(signer);
      const [older, newer] = [named(21, 'one'), named(22, 'two')];
      for (const [version, content] of [
        [older, 'one'],
        [newer, 'two'],
      ] as const) {
        await publish(store, version, content);
      }
      const manifest = await provenManifest(store, siteDomain, older);
      const [text, signature] = [
        (await read(at(older, 'manifest.json'))).toString(),
        await read(at(older, 'manifest.json.minisig')),
      ];
      const problem = async () => {
        const failure = await provenManifest(store, siteDomain, older).catch((error: unknown) => error);
        return failure instanceof VersionDamaged ? failure.message : 'used';
      };

      // The number of pages is in no digest.
      await write(at(older, 'manifest.json'), text.replace('"pages": 1', '"pages": 7'));
      expect(await problem()).toContain('it is not the signature of this manifest');
      await write(at(older, 'manifest.json'), text);
      await write(at(older, 'manifest.json.minisig'), await read(at(newer, 'manifest.json.minisig')));
      expect(await problem()).toContain('it is not the signature of this manifest');
      await write(at(older, 'manifest.json.minisig'), await stranger.signer.sign(text, manifest));
      expect(await problem()).toContain('it was signed by key');
      expect(await problem()).toContain('list its public key in signing.formerKeys');
      await remove(at(older, 'manifest.json.minisig'));
      expect(await problem()).toContain('there is no signature beside the manifest (publish it again');
      // Where no signature is configured, none is needed.
      expect(await provenManifest(await open(), siteDomain, older)).toEqual(manifest);
      await write(at(older, 'manifest.json.minisig'), signature);
      expect(await provenManifest(store, siteDomain, older)).toEqual(manifest);
    });

    it('are used after a change of the key, where the old one is listed as a former key', async () => {
      const { open } = await backend.scene();
      const before = await keys();
      const older = named(21, 'one');
      await publish(await open(before.signer), older, 'one');
      const after = await keys([await before.publicKey()]);
      const store = await open(after.signer);
      expect((await provenManifest(store, siteDomain, older)).version).toBe(older);
      const newer = named(22, 'two');
      await publish(store, newer, 'two');
      expect((await provenManifest(store, siteDomain, newer)).version).toBe(newer);
      await expect(provenManifest(await open(before.signer), siteDomain, newer)).rejects.toBeInstanceOf(VersionDamaged);
    });

    it('have the signature of the current key even where a publisher with another key died before the manifest', async () => {
      const { open, write, read } = await backend.scene();
      const { signer, verify } = await keys();
      const store = await open(signer);
      if (backend.kind === 's3') await write(at(first, 'manifest.json.minisig'), 'of another key');
      await publish(store, first);
      // The second call changes nothing.
      await publish(store, first);
      expect(await verify(read, first)).toContain(`version:${first}`);
    });
  });
}
