import { createHash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ByteWindow } from '../../../src/exports/archive/byte-window.ts';
import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { rawTar } from '../../tools/archives/raw-tar.ts';
import { smallSite, tar, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { sha256 } from '../../tools/bundle/object-server.ts';

const someBytes = Buffer.from(Array.from({ length: 100 }, (_, n) => n));

function windowOf(told: Buffer[] = [], start = 0): ByteWindow {
  const onRaw = (bytes: Uint8Array) => void told.push(Buffer.from(bytes));
  return new ByteWindow(bytesInMemory(someBytes), { start, end: someBytes.length }, onRaw, 16);
}

describe('a window that moves over a file', () => {
  it('keeps returned bytes intact until the second fill that follows', async () => {
    const window = windowOf();
    const first = await window.piece(16);
    const second = await window.piece(16);
    expect(first).toEqual(someBytes.subarray(0, 16));
    const third = await window.piece(16);
    expect([second, third]).toEqual([someBytes.subarray(16, 32), someBytes.subarray(32, 48)]);
  });

  it('takes back buffered bytes, and reads others again', async () => {
    const window = windowOf();
    for (let taken = 0; taken < 48; taken += 16) await window.piece(16);
    window.untake(3);
    expect([window.position, window.buffered]).toEqual([45, 3]);
    window.untake(40);
    expect([window.position, window.buffered]).toEqual([5, 0]);
    expect(await window.piece(100)).toEqual(someBytes.subarray(5, 21));
  });

  it('never takes back more than it returned', async () => {
    const window = windowOf([], 10);
    await window.piece(4);
    expect(() => window.untake(5)).toThrow(RangeError);
  });

  it('reports every byte once and in order, even if it is read again', async () => {
    const told: Buffer[] = [];
    const window = windowOf(told);
    for (let taken = 0; taken < 64; taken += 16) await window.piece(16);
    window.untake(50);
    while ((await window.piece(7)) !== null);
    expect(Buffer.concat(told)).toEqual(someBytes);
  });

  it('grows for a larger piece', async () => {
    const window = windowOf();
    await window.piece(10);
    expect(await window.fill(80)).toBe(true);
    expect(window.take(80)).toEqual(someBytes.subarray(10, 90));
    expect(await window.fill(11)).toBe(false);
  });
});

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

const fiveMegabytes = { maxBytes: 5_000_000, maxFiles: 10, maxRatio: 200 };
/** Ten megabytes of zeros: refused if it were unpacked. */
const bomb = zip([{ name: '../bomb', content: Buffer.alloc(10_000_000) }]);

describe('an archive within an archive (Z5)', () => {
  it.each([
    ['a zip in a zip', zip],
    ['a zip in a tar', tar],
    ['a zip in a gzip tar', tarGz],
  ])('is a file like any other: %s', async (_what, pack) => {
    const archive = pack([...smallSite, { name: 'downloads/all.zip', content: bomb }]);
    const report = await verifyBytes(bytesInMemory(archive), { limits: fiveMegabytes, structureOnly: true });
    expect(report.reasons).toEqual([]);
    expect(report.entries.find(({ path }) => path === 'downloads/all.zip')).toEqual({
      path: 'downloads/all.zip',
      bytes: bomb.length,
      sha256: sha256(bomb),
    });
  });
});
