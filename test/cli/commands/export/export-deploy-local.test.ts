import { access, cp, mkdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../service/http-server.ts';
import { tarGz } from '../../../tools/bundle/build-archive.ts';
import { publishSite, smallSiteVersion } from '../../../tools/bundle/published-version.ts';
import { docferry, docferryJson, emptyFolder } from '../../../tools/cli/run-docferry.ts';

const domain = 'docs.acme.example';
const version = smallSiteVersion;

/** A host without Temporal, service and API key, whose store holds a copy of the version. */
async function isolatedHost(rollout = '[{ directory: { path: ./site } }, { helmValues: { file: values.yaml } }]') {
  const cwd = await emptyFolder();
  const connected = join(await emptyFolder(), 'bundles');
  const { manifest } = await publishSite({ root: connected, domain, version });
  const config = `temporal: { address: "127.0.0.1:1" }
service: { baseUrl: "https://docs-service.invalid" }
organizations:
  - id: acme
    apiKey: \${ACME_API_KEY}
    sites: [{ domain: ${domain}, rollout: ${rollout} }]
store:
  bundles: { directory: ./bundles, publicUrl: "https://bundles.internal.example" }
`;
  await writeFile(join(cwd, 'docferry.yaml'), config);
  await writeFile(join(cwd, 'values.yaml'), 'replicas: 2 # two\n');
  const folder = join(cwd, 'bundles', domain, 'versions', version);
  await cp(join(connected, domain, 'versions', version), folder, { recursive: true });
  const untouched = async () => {
    await expect(access(join(cwd, 'site'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await readFile(join(cwd, 'values.yaml'), 'utf8')).toBe('replicas: 2 # two\n');
  };
  const deploy = (name = version) => docferryJson(['export', 'deploy-local', domain, name], { cwd });
  return { cwd, folder, contentDigest: manifest.contentDigest, deploy, untouched };
}

describe('export deploy-local', () => {
  it('puts a copied version into service where neither service nor Temporal can be reached', async () => {
    const { cwd, folder, contentDigest, deploy } = await isolatedHost();
    const verified = await docferryJson(['export', 'verify', join(folder, 'bundle.tar.gz')], { cwd });
    expect(verified).toMatchObject({ exitCode: 0, document: { ok: true, contentDigest, pages: 2 } });
    const first = await deploy();
    expect(first).toMatchObject({
      exitCode: 0,
      document: {
        domain,
        version,
        rollouts: [
          { target: 'directory:./site', outcome: 'rolled-out', detail: expect.stringContaining(version) },
          { target: 'helmValues:values.yaml', outcome: 'rolled-out', detail: expect.stringContaining(version) },
        ],
      },
    });
    expect(await readlink(join(cwd, 'site', 'current'))).toBe(`releases/${version}`);
    expect(await readFile(join(cwd, 'site', 'current', 'guide', 'start.html'), 'utf8')).toBe('<h1>Start</h1>');
    expect(await readFile(join(cwd, 'values.yaml'), 'utf8')).toBe(`replicas: 2 # two
staticExport:
  enabled: true
  bundleUrl: "https://bundles.internal.example/${domain}/versions/${version}/bundle.tar.gz"
  version: "${version}"
`);
    // A second time changes nothing.
    const again = await docferry(['export', 'deploy-local', domain, version], { cwd });
    expect(again.exitCode).toBe(0);
    expect(again.stdout).toBe(`${version} of ${domain}
  directory:./site        already-current: runs ${version}
  helmValues:values.yaml  already-current: runs ${version}
`);
    const versions = await docferryJson(['export', 'versions', domain], { cwd });
    expect(versions.document).toMatchObject({ versions: [{ version, contentDigest }] });
  });

  it('touches no target when the copy does not match its manifest', async () => {
    const { folder, deploy, untouched } = await isolatedHost();
    const archive = join(folder, 'bundle.tar.gz');
    const manifestFile = join(folder, 'manifest.json');
    const [bytes, manifest] = [await readFile(archive), await readFile(manifestFile, 'utf8')];
    const middle = bytes.length >> 1;
    const flipped = Buffer.concat([
      bytes.subarray(0, middle),
      Buffer.from([0xff ^ (bytes[middle] ?? 0)]),
      bytes.subarray(middle + 1),
    ]);
    const other = tarGz([{ name: 'index.html', content: 'other' }]);
    const otherArchive = { sha256: 'f'.repeat(64), bytes: other.length, format: 'tar.gz' };
    const listed: { bytes: number }[] = JSON.parse(manifest).files;
    const withFiles = (files: object[]) => JSON.stringify({ ...JSON.parse(manifest), files });
    const damage: [message: string, archive: Buffer, manifest: string][] = [
      ['not the one its manifest names', flipped, manifest],
      ['is incomplete in the store', bytes.subarray(0, -1), manifest],
      ['not the one its manifest names', other, JSON.stringify({ ...JSON.parse(manifest), archive: otherArchive })],
      ['do not have its content digest', bytes, withFiles(listed.slice(1))],
      ['files are not those', bytes, withFiles(listed.map((file) => ({ ...file, bytes: file.bytes + 1 })))],
      ['manifest.json is damaged', bytes, manifest.slice(0, -10)],
      [
        'manifest.json belongs to another version',
        bytes,
        manifest.replaceAll(version, '20261122T040200Z-3f9a2c1b8e7d'),
      ],
      ['manifest.json belongs to another site', bytes, manifest.replaceAll(domain, 'docs.other.example')],
    ];
    for (const [message, content, text] of damage) {
      await writeFile(archive, content);
      await writeFile(manifestFile, text);
      const { exitCode, document } = await deploy();
      expect({ exitCode, document }).toEqual({
        exitCode: 1,
        document: {
          error: {
            code: 'VersionDamaged',
            message: expect.stringContaining(message),
            hint: expect.stringContaining(`copy ${folder} again`),
          },
        },
      });
    }
    await rm(manifestFile);
    expect((await deploy()).document).toHaveProperty('error.code', 'VersionDamaged');
    await untouched();
  });

  it('tries every target and fails when one does', async () => {
    const { cwd, deploy } = await isolatedHost(
      '[{ helmValues: { file: missing.yaml } }, { directory: { path: ./site } }]',
    );
    const { exitCode, document } = await deploy();
    expect(exitCode).toBe(1);
    expect(document).toMatchObject({
      rollouts: [
        {
          target: 'helmValues:missing.yaml',
          outcome: 'failed',
          detail: expect.stringContaining('does not exist (ENOENT): create it'),
        },
        { target: 'directory:./site', outcome: 'rolled-out' },
      ],
    });
    expect(await readFile(join(cwd, 'site', 'current', 'index.html'), 'utf8')).toBe('<h1>Home</h1>');
  });

  it('goes back to an older version that is in the store', async () => {
    const { cwd, folder, deploy } = await isolatedHost();
    const newer = version.replace('20261121', '20261122');
    const copy = join(folder, '..', newer);
    await cp(folder, copy, { recursive: true });
    const manifest = await readFile(join(copy, 'manifest.json'), 'utf8');
    await writeFile(join(copy, 'manifest.json'), manifest.replaceAll(version, newer));
    const inService = async () => [
      await readlink(join(cwd, 'site', 'current')),
      /version: "(.*)"/.exec(await readFile(join(cwd, 'values.yaml'), 'utf8'))?.[1],
    ];
    expect((await deploy(newer)).exitCode).toBe(0);
    expect(await inService()).toEqual([`releases/${newer}`, newer]);
    expect((await deploy()).exitCode).toBe(0);
    expect(await inService()).toEqual([`releases/${version}`, version]);
  });

  it('returns what it has reached of three targets, and tries refused content again only when forced', async () => {
    const newer = version.replace('20261121', '20261122');
    let isStale = true;
    let site = '';
    const served: string[] = [];
    const web = createServer(async (request, response) => {
      const [, target = '', ...path] = `${request.url}`.split('/');
      const current = await readlink(join(site, target, 'current'));
      served.push(`${target} ${current.slice(9, 17)}`);
      // What readers get of the newer version at the second target.
      if (isStale && target === 'two' && current.endsWith(newer)) return void response.end('<p>another page</p>');
      const page = await readFile(join(site, target, 'current', path.join('/') || 'index.html')).catch(() => null);
      response.writeHead(page === null ? 404 : 200).end(page);
    });
    const url = `http://127.0.0.1:${await listen(web)}`;
    onTestFinished(() => void web.close().closeAllConnections());
    const checked = (name: string) =>
      `{ directory: { path: ./${name} }, check: { url: "${url}/${name}", within: 2s } }`;
    const { cwd, folder, deploy } = await isolatedHost(
      `[${checked('one')}, ${checked('two')}, { directory: { path: ./three } }]`,
    );
    site = cwd;
    const copy = join(folder, '..', newer);
    await cp(folder, copy, { recursive: true });
    const manifest = await readFile(join(copy, 'manifest.json'), 'utf8');
    await writeFile(join(copy, 'manifest.json'), manifest.replaceAll(version, newer));
    const inService = async () => {
      const { current, held } = (await docferryJson(['export', 'versions', domain], { cwd })).document as {
        current: string | null;
        held: string | null;
      };
      const links = ['one', 'two', 'three'].map((name) => readlink(join(cwd, name, 'current')));
      return { current, held, runs: (await Promise.all(links)).map((link) => link.slice('releases/'.length)) };
    };
    expect((await deploy()).exitCode).toBe(0);
    const before = { current: version, held: null, runs: [version, version, version] };
    expect(await inService()).toEqual(before);
    served.length = 0;
    const refused = await deploy(newer);
    expect(refused).toMatchObject({
      exitCode: 1,
      document: {
        previous: version,
        held: version,
        reasons: [{ rule: 'check-failed', detail: expect.stringContaining('directory:./two') }],
        rollouts: [
          { target: 'directory:./one', outcome: 'failed', detail: `runs ${version} again` },
          { target: 'directory:./two', outcome: 'failed', detail: expect.stringMatching(/again; .*another content/) },
        ],
      },
    });
    expect(await inService()).toEqual({ ...before, held: version });
    // The return is checked at both, and the third target has never had the version.
    expect(new Set(served.slice(-6).map((read) => read.split(' ')[0]))).toContain('two');
    expect(served.at(-1)).toBe('two 20261121');
    await expect(access(join(cwd, 'three', 'releases', newer))).rejects.toMatchObject({ code: 'ENOENT' });

    served.length = 0;
    isStale = false;
    const again = { held: version, reasons: [{ rule: 'check-failed', detail: expect.stringContaining('./two') }] };
    expect(await deploy(newer)).toMatchObject({ exitCode: 1, document: again });
    expect(await inService()).toEqual({ ...before, held: version });
    expect(served).toEqual([]);
    const forced = await docferryJson(['export', 'deploy-local', domain, newer, '--force'], { cwd });
    expect(forced).toMatchObject({ exitCode: 0, document: { held: null, reasons: [] } });
    expect(await inService()).toEqual({ current: newer, held: null, runs: [newer, newer, newer] });
  });

  it('says what is missing', async () => {
    const { cwd, folder, deploy, untouched } = await isolatedHost();
    await mkdir(join(cwd, 'elsewhere'));
    await rename(folder, join(cwd, 'elsewhere', version));
    expect(await deploy()).toMatchObject({ exitCode: 4, document: { error: { code: 'NoSuchVersion' } } });
    expect(await deploy('../../etc')).toMatchObject({ exitCode: 4, document: { error: { code: 'NoSuchVersion' } } });
    await untouched();
    const without = await isolatedHost('[]');
    expect(await without.deploy()).toMatchObject({ exitCode: 2, document: { error: { code: 'Usage' } } });
  });
});
