import { describe, expect, it } from 'vitest';
import { smallSite, tar, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { compare, inputOf } from '../../tools/fuzz/compare.ts';
import { fuzz } from '../../tools/fuzz/run.ts';

const fixedSeed = 20_261_121;

describe('mutated archives beside the libraries', () => {
  it('are refused, or hold the same content for both', async () => {
    const { findings, inputs, accepted, refused } = await fuzz({ seed: fixedSeed, from: 0, to: 3000 });
    expect(findings).toEqual([]);
    expect(inputs).toBe(3000);
    for (const format of ['tar', 'tar.gz', 'zip']) expect(accepted[format], format).toBeGreaterThan(50);
    expect(Object.keys(refused).length).toBeGreaterThan(30);
  }, 120_000);

  it('are the same for the same seed, and others for another', () => {
    const some = (seed: number) => Array.from({ length: 20 }, (_, index) => inputOf(seed, index).toString('hex'));
    expect(some(fixedSeed)).toEqual(some(fixedSeed));
    expect(some(fixedSeed)).not.toEqual(some(fixedSeed + 1));
  });

  it.each([tar, tarGz, zip])('sees when the library finds something else', async (build) => {
    const sound = build(smallSite);
    expect(await compare(sound)).toMatchObject({ accepted: true, finding: null });
    const other = async () => [{ path: 'index.html', bytes: 0, sha256: '' }];
    expect(await compare(sound, other)).toMatchObject({ finding: expect.stringContaining('another content') });
  });
});
