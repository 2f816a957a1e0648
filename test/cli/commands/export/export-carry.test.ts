import { readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tarGz } from '../../../tools/bundle/build-archive.ts';
import { publishSite, smallSiteVersion } from '../../../tools/bundle/published-version.ts';
import { docferryJson, emptyFolder } from '../../../tools/cli/run-docferry.ts';

const domain = 'docs.acme.example';
const version = smallSiteVersion;
const inStore = `${domain}/versions/${version}`;

/** A host without Temporal, service and API key. */
async function host(sites = `[{ domain: ${domain}, rollout: [{ directory: { path: ./site } }] }]`) {
  const cwd = await emptyFolder();
  const config = `temporal: { address: "127.0.0.1:1" }
service: { baseUrl: "https://docs-service.invalid" }
organizations: [{ id: acme, apiKey: "\${ACME_API_KEY}", sites: ${sites} }]
store: { bundles: { directory: ./bundles, publicUrl: "https://bundles.internal.example" } }
`;
  await writeFile(join(cwd, 'docferry.yaml'), config);
  const run = (...args: string[]) => docferryJson(['export', ...args], { cwd });
  /** What the store holds of the site, and what is staged. */
  const stored = async () => {
    const at = (folder: string) => readdir(join(cwd, 'bundles', folder)).catch(() => []);
    return { versions: await at(`${domain}/versions`), staged: await at('.staging') };
  };
  return { cwd, run, stored };
}

/** A file that `export save` wrote. */
async function savedFile() {
  const from = await host();
  const { manifest } = await publishSite({ root: join(from.cwd, 'bundles'), domain, version });
  const file = join(from.cwd, 'carry é.tar');
  const saved = await from.run('save', domain, version.slice(0, 16), '--out', 'carry é.tar');
  return { from, file, manifest, saved };
}

describe('export save and load', () => {
  it('carry a version to a host without the service and Temporal, where it goes into service', async () => {
    const { from, file, manifest, saved } = await savedFile();
    const { length: bytes } = await readFile(file);
    expect(saved).toMatchObject({ exitCode: 0, document: { out: 'carry é.tar', domain, version, bytes } });
    const to = await host();
    const { contentDigest, pages, archive } = manifest;
    const loaded = { domain, version, contentDigest, pages, files: manifest.files.length, bytes: archive.bytes };
    for (let time = 1; time <= 2; time += 1) {
      const load = await to.run('load', file, '--store-only');
      expect(load).toMatchObject({ exitCode: 0, document: loaded });
      expect(load.document).not.toHaveProperty('rollouts');
      expect((await to.run('versions', domain)).document).toMatchObject({ current: null });
      expect(await to.stored()).toEqual({ versions: [version], staged: [] });
    }
    for (const name of ['manifest.json', 'bundle.tar.gz']) {
      const [there, here] = [from, to].map(({ cwd }) => readFile(join(cwd, 'bundles', inStore, name)));
      expect(await here).toEqual(await there);
      // A web server reads the store as another user.
      expect((await stat(join(to.cwd, 'bundles', inStore, name))).mode & 0o044, name).toBe(0o044);
    }
    expect(await to.run('deploy-local', domain, version)).toMatchObject({ exitCode: 0 });
    expect((await to.run('versions', domain)).document).toMatchObject({ current: version });
    expect(await readlink(join(to.cwd, 'site', 'current'))).toBe(`releases/${version}`);
  });

  it('take two commands, after which every other one agrees, and an older version needs a word', async () => {
    const { from, file } = await savedFile();
    const to = await host();
    const loaded = { exitCode: 0, document: { version, previous: null, held: null, reasons: [] } };
    expect(await to.run('load', file)).toMatchObject(loaded);
    expect(await readlink(join(to.cwd, 'site', 'current'))).toBe(`releases/${version}`);
    const newer = version.replace('2026', '2027');
    await publishSite({ root: join(from.cwd, 'bundles'), domain, version: newer });
    await from.run('save', domain, newer, '--out', 'newer.tar');
    expect(await to.run('load', join(from.cwd, 'newer.tar'))).toMatchObject({
      exitCode: 0,
      document: { version: newer, previous: version, rollouts: [{ outcome: 'rolled-out' }] },
    });
    expect((await to.run('versions', domain)).document).toMatchObject({ current: newer, held: null });
    expect((await to.run('diff', domain)).document).toMatchObject({ from: { version }, to: { version: newer } });
    expect(await docferryJson(['store', 'verify'], { cwd: to.cwd })).toMatchObject({ exitCode: 0 });
    // What is there is not replaced by what lay around.
    expect(await to.run('load', file)).toMatchObject({ exitCode: 1, document: { error: { code: 'OlderVersion' } } });
    const third = await host();
    await third.run('load', join(from.cwd, 'newer.tar'));
    expect(await third.run('load', file)).toMatchObject({ exitCode: 1 });
    expect((await third.stored()).versions).toEqual([newer]);
    expect(await third.run('load', file, '--older')).toMatchObject({
      exitCode: 0,
      document: { version, previous: newer },
    });
    expect(await to.run('deploy-local', domain, 'previous')).toMatchObject({ exitCode: 0, document: { version } });
    for (const { run, cwd } of [to, third]) {
      expect((await run('versions', domain)).document).toMatchObject({ current: version });
      expect(await readlink(join(cwd, 'site', 'current'))).toBe(`releases/${version}`);
    }
    // A person's hold comes first.
    await to.run('hold', domain);
    expect(await to.run('load', join(from.cwd, 'newer.tar'))).toMatchObject({
      exitCode: 1,
      document: { error: { code: 'SiteHeld' } },
    });
    expect((await to.run('versions', domain)).document).toMatchObject({ current: version, held: version });
  });

  it('save the current version unless another is named, and say when there is none', async () => {
    const empty = await host();
    expect(await empty.run('save', domain, '--out', 'v.tar')).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NoSuchVersion' } },
    });
    const { store } = await publishSite({ root: join(empty.cwd, 'bundles'), domain, version });
    await store.moveCurrent(domain, version, 0, new Date(0));
    expect(await empty.run('save', domain, '--out', 'v.tar')).toMatchObject({ exitCode: 0, document: { version } });
  });

  it('write nothing of a version whose archive is not as it was published', async () => {
    const from = await host();
    const { manifest } = await publishSite({ root: join(from.cwd, 'bundles'), domain, version });
    await writeFile(join(from.cwd, 'bundles', inStore, 'bundle.tar.gz'), Buffer.alloc(manifest.archive.bytes));
    expect(await from.run('save', domain, version, '--out', 'v.tar')).toMatchObject({
      exitCode: 1,
      document: { error: { code: 'VersionDamaged', message: expect.stringContaining('SHA-256 differ') } },
    });
    expect(await readdir(from.cwd)).not.toContain('v.tar');
  });

  const otherSite = tarGz([{ name: 'index.html', content: '<h1>Other</h1>' }]);
  it.each<[string, (file: Buffer) => Buffer, RegExp]>([
    ['is cut short', (file) => file.subarray(0, file.length - 1_600), /cut short/],
    ['is cut before its archive', (file) => file.subarray(0, 1_024), /cut short|no whole version/],
    ['is no tar', () => Buffer.from('hello'), /cut short or no tar|no whole version/],
    ['is an archive of a site', () => otherSite, /cut short or no tar/],
    ['holds another archive', (file) => withOtherArchive(file), /SHA-256 differ|is refused/],
    [
      'names another site',
      (file) => replaced(file, `${domain}/versions`, 'evil.acme.example/versions'),
      /no tar|names/,
    ],
  ])('put nothing into the store of a file that %s', async (_what, change, message) => {
    const { file } = await savedFile();
    await writeFile(file, change(await readFile(file)));
    const to = await host();
    expect(await to.run('load', file)).toMatchObject({
      exitCode: 1,
      document: { error: { code: 'VersionDamaged', message: expect.stringMatching(message) } },
    });
    expect(await to.stored()).toEqual({ versions: [], staged: [] });
  });

  it('load only sites of the configuration, and what the named key has signed', async () => {
    const { file } = await savedFile();
    const other = await host('[{ domain: blog.acme.example }]');
    expect(await other.run('load', file)).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'UnknownDomain' } },
    });
    const to = await host();
    const key = 'RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3';
    expect(await to.run('load', file, '--signature', key)).toMatchObject({
      exitCode: 1,
      document: { error: { message: expect.stringContaining('signature-missing') } },
    });
    expect(await to.stored()).toEqual({ versions: [], staged: [] });
    expect(await to.run('load', 'none.tar')).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NoSuchFile' } },
    });
  });
});

/** The archive, which is the last file of the tar, with its last byte before the padding changed. */
function withOtherArchive(file: Buffer): Buffer {
  const changed = Buffer.from(file);
  const at = changed.lastIndexOf(Buffer.from([0x1f, 0x8b]));
  changed.writeUInt8(changed.readUInt8(at + 20) ^ 0xff, at + 20);
  return changed;
}

function replaced(file: Buffer, from: string, to: string): Buffer {
  return Buffer.from(file.toString('latin1').replaceAll(from, to), 'latin1');
}
