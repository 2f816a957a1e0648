import { randomBytes } from 'node:crypto';
import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ByteWindow } from '../../../src/exports/archive/byte-window.ts';
import { readDescriptor, readLocalHeader, splitPoint } from '../../../src/exports/archive/read-zip.ts';
import { centralEntries } from '../../../src/exports/archive/zip-records.ts';
import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { type RawEnd, type RawEntry, rawZip, zip64Records } from '../../tools/archives/raw-zip.ts';
import { extra, narrow, wide, zipCentralHeader, zipLocalHeader } from '../../tools/archives/zip-bytes.ts';

const limits = { maxBytes: 10_000, maxFiles: 10, maxRatio: 1000 };
const content = 'a'.repeat(40);
const packed = deflateRawSync(content).length;
const late = {
  both: { flags: 0x808 },
  descriptor: narrow(0x08074b50, crc32(content), packed, content.length),
};
const name = 'caf\u00e9.html';
const timestamp = extra(0x5455, Buffer.concat([Buffer.from([1]), narrow(1_700_000_000)]));
const unicodePath = extra(
  0x7075,
  Buffer.concat([Buffer.from([1]), narrow(crc32(Buffer.from(name))), Buffer.from(name)]),
);

const in32Bits = 0xffffffff;
const sizesIn64 = extra(1, wide(content.length, packed));
const descriptorIn64 = Buffer.concat([narrow(0x08074b50, crc32(content)), wide(packed, content.length)]);
const headerIn64 = { packed: in32Bits, bytes: in32Bits, extra: sizesIn64 };
const unknownIn64 = { crc: 0, packed: in32Bits, bytes: in32Bits, extra: extra(1, wide(0, 0)) };
const streamedIn64 = { name, content, both: { flags: 0x808 }, descriptor: descriptorIn64 };
const endIn64 = { entries: 0xffff, start: in32Bits, before: (told: Directory) => zip64Records(told) };

type Directory = Parameters<typeof zip64Records>[0];

/** As writers that stream make them, needed or not; with the readers that stop there with an error. */
const acceptedIn64: [string, RawEntry[], RawEnd, string[]][] = [
  ['sizes of a local header', [{ name, content, local: headerIn64 }], {}, []],
  ['sizes of a header that repeats them', [{ name, content, local: { extra: sizesIn64 } }], {}, []],
  [
    'sizes of a local header, not compressed',
    [{ name, content, stored: true, local: { ...headerIn64, extra: extra(1, wide(40, 40)) } }],
    {},
    ['BusyBox unzip'],
  ],
  ['sizes of both headers', [{ name, content, both: headerIn64 }], {}, []],
  ['sizes of the directory', [{ name, content, central: headerIn64 }], {}, []],
  ['a descriptor behind such a header', [{ ...streamedIn64, local: unknownIn64 }], {}, ['Java ZipInputStream']],
  ['a descriptor by the directory', [{ ...streamedIn64, central: headerIn64 }], {}, ['Java ZipInputStream']],
  [
    'nothing, and a descriptor behind content that is not compressed',
    [{ ...late, name, content, stored: true, descriptor: narrow(0x08074b50, crc32(content), 40, 40) }],
    {},
    ['Java ZipInputStream'],
  ],
  [
    'nothing, and a data descriptor that only the local header mentions',
    [{ name, content, ...late, central: { flags: 0x800 } }],
    {},
    ['7-Zip'],
  ],
  ['an end', [{ name, content }], endIn64, ['BusyBox unzip']],
  ['an end that repeats that of 32 bits', [{ name, content }], { before: (told) => zip64Records(told) }, []],
  ['an end without numbers of disks', [{ name, content }], { ...endIn64, disk: 0xffff }, ['BusyBox unzip']],
  ['a place', [{ name, content, offset: in32Bits, central: { extra: extra(1, wide(0)) } }], endIn64, ['BusyBox unzip']],
  [
    'a descriptor of an empty entry behind that of another',
    [
      { ...streamedIn64, local: unknownIn64 },
      {
        ...streamedIn64,
        name: 'empty',
        content: '',
        local: unknownIn64,
        descriptor: Buffer.concat([narrow(0x08074b50, 0), wide(2, 0)]),
      },
      { name: 'last', content },
    ],
    {},
    ['Java ZipInputStream'],
  ],
];

/** Every reader unpacks these alike: the generated archives hold them, too. */
const accepted: [string, RawEntry][] = [
  ['a data descriptor beside sizes that the header knows', { name, content, ...late }],
  [
    'a data descriptor beside a checksum that the header knows',
    { name, content, ...late, local: { packed: 0, bytes: 0 } },
  ],
  ['a name beyond ASCII, made on DOS, with a time', { name, content, system: 0, both: { extra: timestamp } }],
  ['the same name in a Unicode Path, marked as UTF-8', { name, content, both: { extra: unicodePath } }],
  ['owners', { name, content, both: { extra: extra(0x7875, Buffer.from('0104e803000004e8030000', 'hex')) } }],
  ['the marker of a jar', { name, content, both: { extra: extra(0xcafe, Buffer.alloc(0)) } }],
];

describe('a zip that is unusual, but means the same to every reader', () => {
  it.each(accepted)('is accepted with %s', async (_what, entry) => {
    const report = await verifyBytes(bytesInMemory(rawZip([entry])), { limits, structureOnly: true });
    expect(report).toMatchObject({ ok: true, reasons: [], entries: [{ path: name, bytes: content.length }] });
  });

  it.each(acceptedIn64)('is accepted with 64 bits for %s', async (_what, entries, end, stops) => {
    const bytes = rawZip(entries, end);
    const siteRules = { 'no-index-page': 'off', 'no-page': 'off' } as const;
    const report = await verifyBytes(bytesInMemory(bytes), { limits, siteRules });
    expect(report).toMatchObject({
      ok: true,
      reasons: [],
      entries: expect.arrayContaining([expect.objectContaining({ path: name })]),
    });
    const warned = report.warnings.map(({ rule, detail }) => `${rule}: ${detail}`);
    expect(warned).toEqual(
      stops.map((reader) => expect.stringMatching(`^narrow-reader: ${reader} stops with an error`)),
    );
  });

  it('is accepted with one warning for each reader, however many entries stop it', async () => {
    const descriptor = narrow(0x08074b50, crc32(content), 40, 40);
    const entries = [1, 2, 3].map((n) => ({ ...late, name: `${n}`, content, stored: true, descriptor }));
    const siteRules = { 'no-index-page': 'off', 'no-page': 'off' } as const;
    const report = await verifyBytes(bytesInMemory(rawZip(entries)), { limits, siteRules });
    const detail = 'Java ZipInputStream stops with an error at the form of this entry';
    expect(report.warnings).toEqual([{ rule: 'narrow-reader', path: '1', detail }]);
  });
});

const gib = 1024 ** 3;
const crc = 0x12345678;
const large = { flags: 0x808, method: 8, name: Buffer.from('video.mp4'), packed: in32Bits, bytes: in32Bits };

function windowOf(bytes: Buffer): ByteWindow {
  return new ByteWindow(bytesInMemory(bytes), { start: 0, end: bytes.length });
}

/** Reads what stands around the content of an entry, without the content: five gibibytes, packed or not. */
async function readAround(packed: number, descriptor: Buffer): Promise<void> {
  const sizes = wide(5 * gib, packed);
  const header = zipCentralHeader({ ...large, crc, extra: extra(1, sizes) }, { offset: 0, attributes: 0 });
  const directory = { entries: 1, start: 0, end: header.length, hidden: true };
  const { value: entry } = await centralEntries(windowOf(header), directory).next();
  expect(entry).toMatchObject({ bytes: 5 * gib, packed, wide: true });
  if (entry === null) throw new Error('the directory is empty');
  const window = windowOf(
    Buffer.concat([zipLocalHeader({ ...large, crc: 0, extra: extra(1, wide(0, 0)) }), descriptor]),
  );
  const local = await readLocalHeader(window, entry);
  await readDescriptor(window, { entry, local, next: window.position + descriptor.length });
}

describe('an entry of five gibibytes', () => {
  const signature = narrow(0x08074b50);

  it.each([5 * gib, 1000])('packed in %i bytes has 64-bit sizes in its data descriptor', async (packed) => {
    const body = Buffer.concat([narrow(crc), wide(packed, 5 * gib)]);
    await readAround(packed, Buffer.concat([signature, body]));
    await readAround(packed, body);
  });

  it('is refused with a descriptor that cuts or changes them', async () => {
    const short = readAround(1000, narrow(0x08074b50, crc, 1000, gib));
    await expect(short).rejects.toMatchObject({ rule: 'data-descriptor' });
    const other = readAround(1000, Buffer.concat([signature, narrow(crc), wide(1000, 4 * gib)]));
    await expect(other).rejects.toMatchObject({ rule: 'data-descriptor' });
  });
});

describe('a zip of 65,536 entries', () => {
  const entries = Array.from({ length: 0x10000 }, (_, n) => ({ name: `${n}`, content: '', stored: true }));
  const limits = { maxBytes: 1000, maxFiles: 100_000, maxRatio: 100 };
  const verify = (archive: Buffer) => verifyBytes(bytesInMemory(archive), { limits, structureOnly: true });

  it('is counted in 64 bits', async () => {
    const archive = rawZip(entries, { entries: 0xffff, before: (told) => zip64Records(told) });
    expect(await verify(archive)).toMatchObject({ ok: true, files: 0x10000 });
  });

  it('is refused when 16 bits cut the count', async () => {
    expect((await verify(rawZip(entries, { entries: 0 }))).reasons).toMatchObject([{ rule: 'zip-directory' }]);
  });
});

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
