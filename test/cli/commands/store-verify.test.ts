import { rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { versionName } from '../../../src/exports/rules/site-export.ts';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { filesOf, publish, stagedManifest } from '../../tools/bundle/staged.ts';
import { docferry, docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';

const domain = 'docs.acme.example';
const nameOf = (day: number, content: string) =>
  versionName(Date.UTC(2026, 10, day), stagedManifest(content, filesOf(content)).contentDigest);

async function published() {
  const cwd = await folderWithConfig();
  const root = join(cwd, 'data', 'bundles');
  const store = await DirectoryBundleStore.open({ root, publicUrl: 'http://x' });
  const [older, newer] = [nameOf(21, 'one'), nameOf(22, 'two')];
  await publish(store, older, 'one');
  await publish(store, newer, 'two');
  await store.moveCurrent(domain, newer, 0, new Date());
  return {
    cwd,
    root,
    older,
    newer,
    archive: (version: string) => join(root, domain, 'versions', version, 'bundle.tar.gz'),
  };
}

it('says that everything is good: one document for scripts, a line of progress for each version', async () => {
  const { cwd, root, older, newer } = await published();
  const verified = await docferryJson(['store', 'verify'], { cwd });
  expect(verified.exitCode).toBe(0);
  expect(verified.document).toEqual({
    ok: true,
    store: root,
    checked: { versions: 2, bytes: expect.any(Number) },
    domains: [
      {
        domain,
        current: newer,
        reasons: [],
        versions: [newer, older].map((version) => ({ version, state: 'good', reasons: [], bytes: expect.any(Number) })),
      },
    ],
  });
  expect(verified.stderr).toContain(`verify: ${domain} ${newer} good\nverify: ${domain} ${older} good\n`);
  const quiet = await docferry(['store', 'verify', domain, '--quiet'], { cwd });
  expect([quiet.stdout, quiet.stderr]).toEqual([
    `${root}: good\n${domain}: 2 of 2 versions good, current ${newer}\n`,
    '',
  ]);
});

it('names what is not good, and ends with 1', async () => {
  const { cwd, older, newer, archive } = await published();
  await truncate(archive(older), 1);
  await writeFile(archive(newer), 'TWO');
  const { exitCode, stdout } = await docferry(['store', 'verify', domain], { cwd });
  expect(exitCode).toBe(1);
  expect(stdout).toContain(`  tampered  ${newer}: bundle.tar.gz is not the archive that was published\n`);
  expect(stdout).toContain(`  partial  ${older}: bundle.tar.gz is cut short: 1 of 3 bytes\n`);
});

it('names first the sites that are not good', async () => {
  const { cwd, root, newer } = await published();
  await rename(join(root, domain), join(root, 'z.acme.example'));
  await truncate(join(root, 'z.acme.example', 'versions', newer, 'bundle.tar.gz'), 1);
  await publish(await DirectoryBundleStore.open({ root, publicUrl: 'http://x' }), newer, 'two');
  const { stdout } = await docferry(['store', 'verify'], { cwd });
  const named = [...stdout.matchAll(/^([a-z.]+\.example):/gm)].map(([, name]) => name);
  expect(named).toEqual(['z.acme.example', domain]);
});

it('accepts a site that has not been published yet, and no unknown ones', async () => {
  const cwd = await folderWithConfig();
  expect(await docferryJson(['store', 'verify', domain], { cwd })).toMatchObject({
    exitCode: 0,
    document: { ok: true, checked: { versions: 0, bytes: 0 }, domains: [] },
  });
  expect(await docferryJson(['store', 'verify', 'docs.other.example'], { cwd })).toMatchObject({
    exitCode: 4,
    document: { error: { code: 'UnknownDomain', hint: `known: ${domain}` } },
  });
});
