import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DirectoryBundleStore } from '../../../../src/exports/store/directory-store.ts';
import { sealOf } from '../../../../src/exports/store/manifests.ts';
import { sha256 } from '../../../tools/bundle/object-server.ts';
import { stagedManifest } from '../../../tools/bundle/staged.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';

const domain = 'docs.acme.example';
const [first, second, third] = ['20261120T040200Z-aaaaaaaaaaaa', '20261121T040200Z-bbbbbbbbbbbb', 'v3'];

type Site = Record<string, string>;

const site: Site = { 'index.html': 'one', 'old.html': 'the same', 'app.js': 'js' };
const changed: Site = { 'index.html': 'three', 'guide/new.html': 'the same', 'app.js': 'js' };

/** A folder with a configuration, and a store with these versions; the last one is current. */
async function published(versions: Record<string, Site>, { current = true } = {}) {
  const cwd = await folderWithConfig();
  const root = join(cwd, 'data', 'bundles');
  const store = await DirectoryBundleStore.open({ root, publicUrl: 'http://x' });
  for (const [version, files] of Object.entries(versions)) {
    const listed = Object.entries(files).map(([path, text]) => {
      return { path, bytes: text.length, sha256: sha256(Buffer.from(text)) };
    });
    await writeFile(await store.stagingFile(version), version);
    const staged = stagedManifest(version, listed);
    await store.saveStaged(version, staged);
    await store.publish(version, version, sealOf(staged));
  }
  const last = Object.keys(versions).at(-1);
  if (last !== undefined && current) await store.moveCurrent(domain, last, 0, new Date());
  return { cwd, root, store };
}

it('compares the current version with the one before it, for scripts and for people', async () => {
  const { cwd } = await published({ [first]: site, [second]: changed });
  const { exitCode, document } = await docferryJson(['export', 'diff', domain], { cwd });
  expect(exitCode).toBe(0);
  expect(document).toEqual({
    domain,
    from: { version: first, contentDigest: expect.any(String), files: 3, pages: 1, bytes: 13 },
    to: { version: second, contentDigest: expect.any(String), files: 3, pages: 1, bytes: 15 },
    equal: false,
    added: [],
    removed: [],
    changed: [
      {
        path: 'index.html',
        before: { bytes: 3, sha256: expect.any(String) },
        after: { bytes: 5, sha256: expect.any(String) },
      },
    ],
    moved: [{ from: 'old.html', to: 'guide/new.html', bytes: 8, sha256: expect.any(String) }],
    counts: {
      files: { added: 0, removed: 0, changed: 1, moved: 1, unchanged: 1 },
      pages: { added: 0, removed: 0, changed: 1, moved: 1, unchanged: 0 },
    },
  });
  const { stdout } = await docferry(['export', 'diff', domain], { cwd });
  expect(stdout).toBe(`${domain}: what changed
  from  ${first}, 1 page, 3 files, 13 B
  to    ${second}, 1 page, 3 files, 15 B, +2 B
  pages  0 added, 0 removed, 1 changed, 1 moved, 0 unchanged
  files  0 added, 0 removed, 1 changed, 1 moved, 1 unchanged
changed:
  ~ index.html (3 B, +2 B)
moved:
  > old.html → guide/new.html
`);
});

it('compares a named version with the current one, and any two', async () => {
  const { cwd, store } = await published({ [first]: site, [second]: changed, [third]: site });
  await store.moveCurrent(domain, first, 1, new Date());
  const sides = async (...versions: string[]) => {
    const { exitCode, document } = await docferryJson(['export', 'diff', domain, ...versions], { cwd });
    return [exitCode, document];
  };
  expect(await sides(second)).toMatchObject([0, { from: { version: second }, to: { version: first }, equal: false }]);
  expect(await sides(first, third)).toMatchObject([
    0,
    { from: { version: first }, to: { version: third }, equal: true },
  ]);
  const { stdout, exitCode } = await docferry(['export', 'diff', domain, first, third], { cwd });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^docs\.acme\.example: equal, both versions have the same files\n/);
  // The current one is the oldest.
  expect(await sides()).toMatchObject([4, { error: { code: 'NoSuchVersion', hint: expect.stringContaining(second) } }]);
});

it('compares what waits for the end of a hold with what is in service', async () => {
  const { cwd, store } = await published({ [first]: site, [second]: site, [third]: changed });
  await store.moveCurrent(domain, second, 1, new Date());
  const compared = async (...versions: string[]) => {
    const { document, stderr } = await docferryJson(['export', 'diff', domain, ...versions], { cwd });
    return { stderr, ...(document as { from: { version: string }; to: { version: string } }) };
  };
  // A newer one may wait for approval: only Temporal knows, which is away here.
  const unknown = await compared();
  expect(unknown).toMatchObject({ from: { version: first }, to: { version: second } });
  expect(unknown.stderr).toContain('whether a version waits for approval is unknown');
  await store.holds.place(domain, { version: null, reason: null, at: new Date() });
  await store.holds.noteWaiting(domain, third);
  expect(await compared()).toMatchObject({ from: { version: second }, to: { version: third }, stderr: '' });
  expect(await compared(first)).toMatchObject({ from: { version: first }, to: { version: second } });
});

it('shows all of a first version that waits', async () => {
  const { cwd, store } = await published({ [first]: site }, { current: false });
  await store.holds.place(domain, { version: first, reason: null, at: new Date() });
  await store.holds.noteWaiting(domain, first);
  const { document } = await docferryJson(['export', 'diff', domain], { cwd });
  expect(document).toMatchObject({ from: null, to: { version: first }, counts: { files: { added: 3 } } });
  const { stdout, exitCode } = await docferry(['export', 'diff', domain], { cwd });
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`${domain}: first version: 1 page added\n  to  ${first}`);
  const listed = await docferry(['export', 'versions', domain], { cwd });
  expect(listed.stdout).toMatch(new RegExp(`^waits +${first}`, 'm'));
});

it('cuts long lists for people, unless --all is given', async () => {
  const many = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`p/${index}.html`, `page ${index}`]));
  const { cwd } = await published({ [first]: site, [second]: { ...site, ...many, 'a\u001b[2J.txt': 'x' } });
  const short = (await docferry(['export', 'diff', domain], { cwd })).stdout;
  expect(short).toContain('\n  … and 6 more, see --all\n');
  expect(short.match(/^ {2}\+ /gm)).toHaveLength(20);
  const all = (await docferry(['export', 'diff', domain, '--all'], { cwd })).stdout;
  expect(all.match(/^ {2}\+ /gm)).toHaveLength(26);
  expect(all).toContain('+ a\\u{1b}[2J.txt');
  const { document } = await docferryJson(['export', 'diff', domain], { cwd });
  expect(document.added).toHaveLength(26);
});

it('names versions that are missing and manifests that are damaged', async () => {
  const { cwd, root } = await published({ [first]: site, [second]: changed });
  for (const name of ['20200101T000000Z-aaaaaaaaaaaa', '../../x', '']) {
    const { exitCode, document } = await docferryJson(['export', 'diff', domain, name], { cwd });
    expect([exitCode, document]).toMatchObject([4, { error: { code: 'NoSuchVersion' } }]);
  }
  await writeFile(join(root, domain, 'versions', first, 'manifest.json'), '{}');
  expect(await docferryJson(['export', 'diff', domain, first], { cwd })).toMatchObject({
    exitCode: 1,
    document: { error: { code: 'VersionDamaged' } },
  });
  const nothing = await published({});
  expect(await docferryJson(['export', 'diff', domain], { cwd: nothing.cwd })).toMatchObject({
    exitCode: 4,
    document: { error: { code: 'NoSuchVersion', message: `${domain} has no current version` } },
  });
  expect((await docferryJson(['export', 'diff', 'docs.other.example'], { cwd })).exitCode).toBe(4);
});
