import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { signatureRuleTexts } from '../../../../src/exports/rules/verification-rules.ts';
import { publishSite, smallSiteVersion } from '../../../tools/bundle/published-version.ts';
import { docferry, docferryJson, emptyFolder, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { Minisign, minisignProgram } from '../../../tools/servers/minisign.ts';

const program = minisignProgram();
const domain = 'docs.acme.example';
const version = smallSiteVersion;

/** What a person behind an air gap receives: an archive, its manifest, the signature, a public key. */
async function handedOver() {
  const minisign = new Minisign(program ?? '', await emptyFolder());
  await minisign.makeKey('docs');
  const { store } = await publishSite({ root: await emptyFolder(), domain, version });
  const folder = join(store.place, domain, 'versions', version);
  for (const name of ['bundle.tar.gz', 'manifest.json']) await copyFile(join(folder, name), minisign.at(name));
  await minisign.sign('manifest.json', 'docs');
  const verify = (...more: string[]) =>
    docferryJson(['export', 'verify', 'bundle.tar.gz', '--signature', 'docs.pub', ...more], { cwd: minisign.folder });
  const change = async (name: string, from: string, to: string) => {
    const text = await readFile(minisign.at(name), 'utf8');
    await writeFile(minisign.at(name), text.replace(from, to));
  };
  return { minisign, verify, change };
}

const rulesOf = (document: Record<string, unknown>) => [
  document.ok,
  document.signature,
  ...(Array.isArray(document.reasons) ? document.reasons.map(({ rule }: { rule: string }) => rule) : []),
];

describe.skipIf(program === null)('export verify --signature', () => {
  it('needs a public key and nothing else, by its file or its line', async () => {
    const { minisign, verify } = await handedOver();
    const { exitCode, document } = await verify();
    expect([exitCode, document.ok]).toEqual([0, true]);
    expect(document.signature).toEqual({
      keyId: expect.stringMatching(/^[0-9A-F]{16}$/),
      trustedComment: expect.stringContaining('file:manifest.json'),
      version,
      domain,
    });
    const line = (await readFile(minisign.at('docs.pub'), 'utf8')).split('\n')[1] ?? '';
    const told = await docferry(['export', 'verify', 'bundle.tar.gz', '--signature', line], { cwd: minisign.folder });
    expect(told.exitCode).toBe(0);
    expect(told.stdout).toMatch(new RegExp(`signed +${domain} ${version}, by key [0-9A-F]{16}\n`));
  });

  it('refuses what is changed, missing or signed by another key, each by its rule', async () => {
    const seen = new Set<unknown>();
    const broken = async (
      breakIt: (scene: Awaited<ReturnType<typeof handedOver>>) => Promise<unknown>,
      more: string[] = [],
    ) => {
      const scene = await handedOver();
      await breakIt(scene);
      const { exitCode, document } = await scene.verify(...more);
      expect(exitCode).toBe(1);
      const rules = rulesOf(document);
      seen.add(rules[2]);
      return rules;
    };
    expect(await broken(({ change }) => change('manifest.json', domain, 'docs.evil.example'))).toEqual([
      false,
      null,
      'signature-invalid',
    ]);
    expect(await broken(({ change }) => change('manifest.json.minisig', 'timestamp:', 'timestamp:1'))).toEqual([
      false,
      null,
      'signature-invalid',
    ]);
    await broken(({ minisign }) => minisign.makeKey('docs'));
    await broken(({ minisign }) => minisign.sign('manifest.json', 'docs', ['-l']));
    await broken(({ change }) => change('manifest.json.minisig', 'untrusted comment: ', ''));
    await broken(({ minisign }) => rm(minisign.at('manifest.json.minisig')));
    await broken(({ minisign }) => rm(minisign.at('manifest.json')));
    await broken(async ({ minisign }) => {
      await minisign.write('manifest.json', '{}');
      await minisign.sign('manifest.json', 'docs');
    });
    const differs = await broken(async ({ minisign, change }) => {
      await change('manifest.json', '"sha256": "', '"sha256": "0');
      const text = await readFile(minisign.at('manifest.json'), 'utf8');
      await minisign.write('manifest.json', text.replace(/("sha256": "0.{63})./, '$1'));
      await minisign.sign('manifest.json', 'docs');
    });
    expect(differs).toEqual([false, null, 'manifest-differs']);
    await broken(
      async ({ minisign, change }) => {
        await change('manifest.json', domain, 'docs.other.example');
        await minisign.sign('manifest.json', 'docs');
      },
      ['--domain', domain],
    );
    expect(seen).toEqual(new Set(Object.keys(signatureRuleTexts)));
  });

  it('refuses the signed manifest of another site or version than expected', async () => {
    const { verify } = await handedOver();
    expect((await verify('--domain', domain, '--site-version', version)).exitCode).toBe(0);
    const wrong = await verify('--domain', 'docs.other.example', '--site-version', `${version}0`);
    expect([wrong.exitCode, wrong.document.signature]).toEqual([1, null]);
    expect(wrong.document.reasons).toEqual([
      { rule: 'manifest-unexpected', path: null, detail: `the manifest is of ${domain}, not of docs.other.example` },
      { rule: 'manifest-unexpected', path: null, detail: `the manifest is of version ${version}, not of ${version}0` },
    ]);
  });

  it('says how a good archive differs from the signed one, and explains the rules', async () => {
    const { minisign } = await handedOver();
    const { tarGz, smallSite } = await import('../../../tools/bundle/build-archive.ts');
    await minisign.write('bundle.tar.gz', tarGz([...smallSite, { name: 'more.html', content: '<p>more' }]));
    const { exitCode, stdout } = await docferry(
      ['export', 'verify', 'bundle.tar.gz', '--signature', 'docs.pub', '--explain'],
      { cwd: minisign.folder },
    );
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/manifest-differs: the content digest is [0-9a-f]{64}, signed is [0-9a-f]{64}\n/);
    expect(stdout).toContain('manifest-differs: an archive that is not the one the manifest names');
  });

  it('takes the manifest from elsewhere, and says what is wrong with its arguments', async () => {
    const { minisign, verify } = await handedOver();
    const elsewhere = await emptyFolder();
    for (const name of ['manifest.json', 'manifest.json.minisig']) {
      await copyFile(minisign.at(name), join(elsewhere, name));
      await rm(minisign.at(name));
    }
    expect((await verify('--manifest', join(elsewhere, 'manifest.json'))).exitCode).toBe(0);
    expect(await verify('--manifest', 'nowhere.json')).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NoSuchFile', message: 'there is no file nowhere.json' } },
    });
    const cwd = minisign.folder;
    const said = (...more: string[]) => docferryJson(['export', 'verify', 'bundle.tar.gz', ...more], { cwd });
    for (const flag of ['--manifest', '--domain', '--site-version']) {
      expect(await said(flag, 'x')).toMatchObject({
        exitCode: 2,
        document: { error: { message: `${flag} needs --signature` } },
      });
    }
    expect(await said('--signature', 'nowhere.pub')).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NoSuchFile' } },
    });
    const secret = await said('--signature', 'docs.key');
    expect(secret).toMatchObject({ exitCode: 2, document: { error: { code: 'Usage' } } });
    expect(secret.stdout).not.toContain((await readFile(minisign.at('docs.key'), 'utf8')).slice(60, 90));
    expect(await said('--manifest', 'x.json')).toMatchObject({ exitCode: 2, document: { error: { code: 'Usage' } } });
  });
});

describe.skipIf(program === null)('a signing key that cannot be used', () => {
  it('is reported by the doctor, and stops no command that only reads', async () => {
    const cwd = await folderWithConfig();
    await publishSite({ root: join(cwd, 'data', 'bundles'), domain, version });
    const config = await readFile(join(cwd, 'docferry.yaml'), 'utf8');
    await writeFile(join(cwd, 'docferry.yaml'), `${config}store: { bundles: { signing: { keyFile: no.key } } }\n`);
    expect((await docferryJson(['export', 'versions', domain], { cwd })).exitCode).toBe(0);
    const { document } = await docferryJson(['doctor'], { cwd });
    expect(document.checks).toContainEqual(
      expect.objectContaining({
        name: 'bundle-store',
        ok: false,
        detail: expect.stringMatching(/the signing key .*no\.key cannot be read \(ENOENT\)/),
        fix: expect.stringContaining('minisign -G'),
      }),
    );
  });
});
