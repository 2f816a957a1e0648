import { createHash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { rawTar } from '../../tools/archives/raw-tar.ts';

const mb = 1024 ** 2;
const limits = { maxBytes: 100 * mb, maxFiles: 100, maxRatio: 1000 };
/** Does not compress: as large packed as unpacked. */
const picture = randomBytes(3 * mb);
const sound = gzipSync(
  rawTar([
    { name: 'index.html', content: '<h1>Home</h1>' },
    { name: 'picture.png', content: picture },
  ]),
);

describe('compressed data that is read ahead', () => {
  it.each([
    ['a byte', Buffer.from([1])],
    ['more than is read at once', randomBytes(5 * mb)],
    ['zeros', Buffer.alloc(2 * mb)],
  ])('is refused with %s after its end', async (_what, behind) => {
    const archive = Buffer.concat([sound, behind]);
    const report = await verifyBytes(bytesInMemory(archive), { limits, structureOnly: true });
    expect(report.reasons.map(({ rule }) => rule)).toEqual(['trailing-data']);
    expect(report.archive?.sha256).toBe(createHash('sha256').update(archive).digest('hex'));
  });

  it.each([100, mb - 1, mb, mb + 1, 2 * mb, 3 * mb])('is refused when it is cut after %i bytes', async (bytes) => {
    const archive = sound.subarray(0, bytes);
    const report = await verifyBytes(bytesInMemory(archive), { limits, structureOnly: true });
    expect(report.reasons.map(({ rule }) => rule)).toEqual(['truncated']);
    expect(report.archive?.sha256).toBe(createHash('sha256').update(archive).digest('hex'));
  });

  it('yields what was packed', async () => {
    const report = await verifyBytes(bytesInMemory(sound), { limits, structureOnly: true });
    expect(report.reasons).toEqual([]);
    expect(report.entries.map(({ sha256 }) => sha256)).toContain(createHash('sha256').update(picture).digest('hex'));
    expect(report.archive?.sha256).toBe(createHash('sha256').update(sound).digest('hex'));
  });
});
