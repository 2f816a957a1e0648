import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startBundleServer } from '../../src/exports/server/bundle-server.ts';
import { rawTar } from '../tools/archives/raw-tar.ts';
import { rawZip, zip64Records } from '../tools/archives/raw-zip.ts';
import { index } from '../tools/archives/refusal.ts';
import { smallSite, zip } from '../tools/bundle/build-archive.ts';
import { publishSite, smallSiteVersion as version } from '../tools/bundle/published-version.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { sha256Of } from '../tools/fuzz/oracles/tree.ts';
import { Minisign } from '../tools/servers/minisign.ts';

const script = fileURLToPath(new URL('../../deploy/chart/files/fetch.sh', import.meta.url));
const domain = 'docs.acme.example';
const run = promisify(execFile);
const programOf = (name: string) =>
  run('/bin/sh', ['-c', `command -v ${name}`]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
const [busybox, curl] = [await programOf('busybox'), await programOf('curl')];
const verifiers = { minisign: await programOf('minisign'), openssl: await programOf('openssl') };

/** A published version behind the real bundle server, and a pod's start that fetches it: BusyBox, curl and one verifier. */
async function scene({
  token,
  verifier,
  bundle,
}: {
  token?: string;
  verifier?: keyof typeof verifiers;
  bundle?: Buffer;
} = {}) {
  const folder = await tempFolder();
  const root = join(folder, 'bundles');
  const server = await startBundleServer({ root, port: 0, ...(token !== undefined && { token }) });
  onTestFinished(() => server.stop());
  const { store, manifest } = await publishSite({
    root,
    domain,
    version,
    publicUrl: server.url,
    ...(bundle && { bundle }),
  });
  const [site, bin] = [join(folder, 'site'), join(folder, 'bin')];
  await mkdir(join(site, 'html', 'left-by-an-earlier-attempt'), { recursive: true });
  await mkdir(bin);
  await symlink(curl ?? '', join(bin, 'curl'));
  if (verifier !== undefined) await symlink(verifiers[verifier] ?? '', join(bin, verifier));
  const applets = 'sh sed sha256sum cut find rm mkdir tar unzip test base64 head tail'.split(' ');
  for (const applet of applets) {
    await symlink(busybox ?? '', join(bin, applet));
  }
  const usual = { PATH: bin, SITE: site, BUNDLE_URL: store.urlOf(domain, manifest), BUNDLE_VERSION: version };
  const fetch = async (env: Record<string, string> = {}) => {
    const starting = run(join(bin, 'sh'), ['-eu', '-c', await readFile(script, 'utf8')], {
      env: { ...usual, BUNDLE_TOKEN: '', BUNDLE_KEYS: '', ...env },
    });
    return starting.then(
      () => 'fetched',
      (error: { stderr: string }) => error.stderr,
    );
  };
  const page = () => readFile(join(site, 'html', 'guide', 'start.html'), 'utf8').catch(() => null);
  const versionFolder = join(root, domain, 'versions', version);
  return { fetch, page, versionFolder, url: usual.BUNDLE_URL };
}

describe.skipIf(busybox === null || curl === null)("the sample chart's script", () => {
  it('fetches the bundle, finds it to be the one of its manifest, and unpacks it', async () => {
    const { fetch, page, url } = await scene();
    expect(await fetch()).toBe('fetched');
    expect(await page()).toBe('<h1>Start</h1>');
    expect(await fetch({ BUNDLE_URL: `${url}.gone` })).toContain('404');
  });

  it('unpacks a zip, and says what to do where its unzip cannot', async () => {
    const whole = await scene({ bundle: zip(smallSite) });
    expect(await whole.fetch()).toBe('fetched');
    expect(await whole.page()).toBe('<h1>Start</h1>');
    const entries = smallSite.map(({ name, content = '' }) => ({ name: `${name}`, content }));
    const in64 = rawZip(entries, { entries: 0xffff, start: 0xffffffff, before: (told) => zip64Records(told) });
    expect(await (await scene({ bundle: in64 })).fetch()).toContain("use an image with Info-ZIP's");
  });

  it('refuses an archive that is not the one of its manifest, and a manifest of another version', async () => {
    const { fetch, page, versionFolder } = await scene();
    const archive = join(versionFolder, 'bundle.tar.gz');
    const bytes = await readFile(archive);
    expect(await fetch({ BUNDLE_VERSION: '20261122T040200Z-3f9a2c1b8e7d' })).toContain('is of version');
    bytes[4] = (bytes[4] ?? 0) ^ 1;
    await writeFile(archive, bytes);
    expect(await fetch()).toContain('its SHA-256 is not the one in its manifest');
    expect(await page()).toBeNull();
  });

  it('refuses an archive of which the server could not read all', async () => {
    const { fetch, versionFolder } = await scene();
    const [manifest, archive] = [join(versionFolder, 'manifest.json'), join(versionFolder, 'bundle.tar.gz')];
    const [stated, published] = [await readFile(manifest, 'utf8'), await readFile(archive)];
    const closed = gzipSync(
      rawTar([
        { ...index, change: (header) => void header.write('0000000', 100) },
        { name: 'a.html', content: 'a' },
      ]),
    );
    await writeFile(archive, closed);
    const told = stated.replace(sha256Of(published), sha256Of(closed));
    await writeFile(manifest, told.replace(`"bytes": ${published.length}`, `"bytes": ${closed.length}`));
    expect(await fetch()).toMatch(/the server cannot read .*index\.html/);
  });

  it('follows no redirect, so that the token goes to no other host', async () => {
    const { fetch, page, url } = await scene();
    const seen: (string | undefined)[] = [];
    const redirecting = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(302, { location: new URL(request.url ?? '/', url).href }).end();
    });
    await new Promise<void>((done) => redirecting.listen(0, '127.0.0.1', done));
    onTestFinished(() => void redirecting.close());
    const { port } = redirecting.address() as AddressInfo;
    const away = `http://127.0.0.1:${port}${new URL(url).pathname}`;
    expect(await fetch({ BUNDLE_URL: away, BUNDLE_TOKEN: 'secret-1' })).toContain('Maximum (0) redirects');
    expect([seen, await page()]).toEqual([['Bearer secret-1'], null]);
  });

  it('sends the token where there is one, and fails without it', async () => {
    const { fetch, page } = await scene({ token: 'secret-1' });
    expect(await fetch()).toContain('401');
    expect(await page()).toBeNull();
    expect(await fetch({ BUNDLE_TOKEN: 'secret-1' })).toBe('fetched');
    expect(await page()).toBe('<h1>Start</h1>');
  });

  it.each([
    ['the newline of a file', 'secret-1\n'],
    ['the newline of a Windows file', 'secret-1\r\n'],
    ['a quote', 'sec"ret"-1'],
    ['backslashes', String.raw`\sec\\ret\n-1\\`],
    ['signs that shells and curl know', String.raw`$(id)\`#'%s&/-1`],
  ])('sends a token with %s as docferry reads it', async (_what, written) => {
    const { fetch } = await scene({ token: written.trim() });
    expect(await fetch({ BUNDLE_TOKEN: written })).toBe('fetched');
  });
});

/** The public keys of a signer and of another; `sign` signs the published manifest. */
async function signer(versionFolder: string) {
  const minisign = new Minisign(verifiers.minisign ?? '', versionFolder);
  const [mine, other] = await Promise.all(
    ['mine', 'other'].map(async (name) => {
      await minisign.makeKey(name);
      return (await readFile(minisign.at(`${name}.pub`), 'utf8')).split('\n')[1] ?? '';
    }),
  );
  return {
    mine: mine ?? '',
    other: other ?? '',
    sign: (more?: string[]) => minisign.sign('manifest.json', 'mine', more),
  };
}

describe.skipIf(Object.values(verifiers).includes(null) || busybox === null || curl === null)(
  'where keys are named',
  () => {
    const wrong = 'no key of bundleSignature.publicKeys has signed';

    describe.each(['minisign', 'openssl'] as const)('%s', (verifier) => {
      it('lets through what one of them has signed', async () => {
        const { fetch, page, versionFolder } = await scene({ verifier });
        const { mine, other, sign } = await signer(versionFolder);
        await sign();
        expect(await fetch({ BUNDLE_KEYS: other })).toContain(wrong);
        expect(await page()).toBeNull();
        expect(await fetch({ BUNDLE_KEYS: `${other} ${mine}` })).toBe('fetched');
        expect(await page()).toBe('<h1>Start</h1>');
      });

      it.each<[what: string, spoil: (sign: (more?: string[]) => Promise<void>, manifest: string) => Promise<void>]>([
        ['the legacy kind', (sign) => sign(['-l'])],
        [
          'a manifest that was changed',
          async (sign, manifest) => {
            await sign();
            await writeFile(manifest, `${await readFile(manifest, 'utf8')}\n`);
          },
        ],
      ])('refuses %s', async (_what, spoil) => {
        const { fetch, page, versionFolder } = await scene({ verifier });
        const { mine, sign } = await signer(versionFolder);
        await spoil(sign, join(versionFolder, 'manifest.json'));
        expect(await fetch({ BUNDLE_KEYS: mine })).toContain(wrong);
        expect(await page()).toBeNull();
      });
    });

    it('refuses what is not signed', async () => {
      const { fetch, versionFolder } = await scene({ verifier: 'openssl' });
      expect(await fetch({ BUNDLE_KEYS: (await signer(versionFolder)).mine })).toContain('404');
    });

    it('says what to do without a verifier, and without a version', async () => {
      const { fetch, versionFolder } = await scene();
      const { mine, sign } = await signer(versionFolder);
      await sign();
      expect(await fetch({ BUNDLE_KEYS: mine })).toContain('name an image with minisign or OpenSSL in images.fetch');
      const { fetch: verified } = await scene({ verifier: 'openssl' });
      expect(await verified({ BUNDLE_KEYS: mine, BUNDLE_VERSION: '' })).toContain('set staticExport.version');
    });
  },
);
