import { chmod, link, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { smallSite, tar, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { compare, verify } from '../../tools/fuzz/compare.ts';
import { allPairs, inputOf, kindsOfInput } from '../../tools/fuzz/input-of.ts';
import { startOracles } from '../../tools/fuzz/oracles/installed-oracles.ts';
import type { Oracle } from '../../tools/fuzz/oracles/oracle.ts';
import { difference, treeOnDisk } from '../../tools/fuzz/oracles/tree.ts';
import { fuzz } from '../../tools/fuzz/run.ts';

const fixedSeed = 20_261_121;
const { installed, missing } = await startOracles();
const names = installed.map(({ name }) => name);

afterAll(() => {
  for (const oracle of installed) oracle.close();
});

describe(`generated archives, read by ${names.join(', ')}; not installed: ${missing.join(', ') || 'none'}`, () => {
  it('are refused, or unpack to the same files with every reader', async () => {
    const { findings, inputs, accepted, refused, read } = await fuzz({ seed: fixedSeed, from: 0, to: 2000 }, installed);
    expect(findings).toEqual([]);
    expect(inputs).toBe(2000);
    for (const format of ['tar', 'tar.gz', 'zip']) expect(accepted[format], format).toBeGreaterThan(20);
    expect(Object.keys(refused).length).toBeGreaterThan(40);
    expect(Object.keys(read).sort()).toEqual([...names].sort());
  });

  it('are the same for the same seed, and others for another', () => {
    const some = (seed: number) => Array.from({ length: 20 }, (_, index) => inputOf(seed, index).toString('hex'));
    expect(some(fixedSeed)).toEqual(some(fixedSeed));
    expect(some(fixedSeed)).not.toEqual(some(fixedSeed + 1));
  });
});

describe('the generated archives', () => {
  it('combine each pair of oddities', () => {
    const found = new Set<string>();
    for (let index = 0; index < 20_000; index += 1) {
      for (const pair of kindsOfInput(fixedSeed, index).pairs) found.add(pair);
    }
    expect(allPairs().filter((pair) => !found.has(pair))).toEqual([]);
  });
});

describe('a comparison', () => {
  const oracle = (read: Oracle['read']): Oracle => ({
    name: 'other',
    version: '1',
    formats: ['tar', 'tar.gz', 'zip'],
    read,
    close: () => undefined,
  });

  it.each([tar, tarGz, zip])('names each reader that finds something else, or refuses', async (build) => {
    const bytes = build(smallSite);
    const report = await verify(bytes);
    const scratch = join(await tempFolder(), 'scratch');
    const disagreements = async (readers: readonly Oracle[]) =>
      (await compare(bytes, report, readers, scratch)).disagreements;
    expect(await disagreements(installed)).toEqual([]);
    expect(await disagreements([oracle(async () => new Map([['index.html', '']]))])).toEqual([
      expect.stringContaining('other: "assets" is missing'),
    ]);
    expect(await disagreements([oracle(() => Promise.reject(new Error('no')))])).toEqual(['other: refuses: no']);
  });

  it('finds links, special modes and files too many on disk', async () => {
    const folder = await tempFolder();
    await mkdir(join(folder, 'b'));
    for (const name of ['file', 'linked', 'special']) await writeFile(join(folder, name), '');
    await link(join(folder, 'linked'), join(folder, 'b', 'hard'));
    await symlink('file', join(folder, 'soft'));
    await chmod(join(folder, 'special'), 0o2644);
    const tree = treeOnDisk(folder);
    expect(Object.fromEntries(tree)).toMatchObject({
      b: 'folder',
      'b/hard': 'hard link',
      soft: 'symbolic link',
      special: 'special mode 102644',
    });
    const expected = new Map(tree);
    expect(difference(expected, tree)).toBeNull();
    expected.delete('soft');
    expect(difference(expected, tree)).toBe('"soft" is there: symbolic link');
  });
});
