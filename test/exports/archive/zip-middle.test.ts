import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { splitPoint } from '../../../src/exports/archive/read-zip.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { type RawEntry, rawZip } from '../../tools/archives/raw-zip.ts';

const page = (n: number): RawEntry => ({ name: `p${n}.html`, content: `page ${n} `.repeat(200_000) });
const picture = (n: number): RawEntry => ({ name: `i${n}.png`, content: randomBytes(200_000), stored: true });
const several = (make: (n: number) => RawEntry, count: number) => Array.from({ length: count }, (_, n) => make(n));

async function shareOf(entries: RawEntry[]): Promise<number> {
  const archive = rawZip(entries);
  return (await splitPoint(bytesInMemory(archive))) / archive.length;
}

describe('where two threads divide a zip', () => {
  it('is where the work is halved, not the bytes', async () => {
    const pagesFirst = await shareOf([...several(page, 40), ...several(picture, 20)]);
    const picturesFirst = await shareOf([...several(picture, 20), ...several(page, 40)]);
    expect(pagesFirst).toBeLessThan(0.1);
    expect(picturesFirst).toBeGreaterThan(0.9);
  });

  it('is always the same, at the start of an entry', async () => {
    const archive = rawZip(several(page, 60));
    const middle = await splitPoint(bytesInMemory(archive));
    expect(await splitPoint(bytesInMemory(archive))).toBe(middle);
    expect(archive.toString('latin1', middle, middle + 4)).toBe('PK\x03\x04');
  });

  it.each([
    ['no directory', Buffer.alloc(1000)],
    ['a directory of nonsense', rawZip([page(1)], { entries: 60_000 })],
    ['nothing', rawZip([])],
  ])('lies within a zip with %s', async (_what, archive) => {
    const middle = await splitPoint(bytesInMemory(archive));
    expect(middle).toBeGreaterThanOrEqual(0);
    expect(middle).toBeLessThanOrEqual(archive.length);
  });
});
