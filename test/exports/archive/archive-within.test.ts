import { describe, expect, it } from 'vitest';
import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { smallSite, tar, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';

const limits = { maxBytes: 5_000_000, maxFiles: 10, maxRatio: 200 };
/** Ten megabytes of zeros: refused if it were unpacked. */
const bomb = zip([{ name: '../bomb', content: Buffer.alloc(10_000_000) }]);

describe('an archive within an archive (Z5)', () => {
  it.each([
    ['a zip in a zip', zip],
    ['a zip in a tar', tar],
    ['a zip in a gzip tar', tarGz],
  ])('is a file like any other: %s', async (_what, pack) => {
    const archive = pack([...smallSite, { name: 'downloads/all.zip', content: bomb }]);
    const report = await verifyBytes(bytesInMemory(archive), { limits, structureOnly: true });
    expect(report.reasons).toEqual([]);
    expect(report.entries.find(({ path }) => path === 'downloads/all.zip')).toEqual({
      path: 'downloads/all.zip',
      bytes: bomb.length,
      sha256: sha256(bomb),
    });
  });
});
