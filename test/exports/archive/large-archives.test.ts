import { createHash, randomBytes } from 'node:crypto';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ArchiveEntry, ByteFile } from '../../../src/exports/archive/archive-reader.ts';
import { ArchiveFault } from '../../../src/exports/archive/archive-reader.ts';
import { readers } from '../../../src/exports/archive/open-archive.ts';
import type { ArchiveFormat } from '../../../src/exports/rules/site-export.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { rawBlock, rawTar } from '../../tools/archives/raw-tar.ts';
import { type RawEntry, rawZip } from '../../tools/archives/raw-zip.ts';
import { narrow } from '../../tools/archives/zip-bytes.ts';

/** Above what is read in one go, and above the window. */
const largeSize = 5_000_003;
const sizes = [0, 1, 511, 512, 513, 200_000, 1_048_575, 1_048_576, 1_048_577, 2_097_152, 2_097_153, largeSize, 3];
const contents = sizes.map((size, index) => (index % 2 ? randomBytes(size) : Buffer.alloc(size, `text ${index} `)));
const files = contents.map((content, index) => ({ name: `${index}.bin`, content }));
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const expected = files.map(({ name, content }) => `${name} ${sha256(content)}`);

const stored: RawEntry[] = files.map((file) => ({ ...file, stored: true }));
const late: RawEntry[] = files.map(({ name, content }) => {
  const packed = deflateRawSync(content).length;
  const descriptor = narrow(0x08074b50, crc32(content), packed, content.length);
  return { name, content, both: { flags: 0x808 }, local: { crc: 0, packed: 0, bytes: 0 }, descriptor };
});
const unsigned: RawEntry[] = late.map((entry) => ({
  ...entry,
  descriptor: entry.descriptor?.subarray(4) ?? Buffer.alloc(0),
}));
const known: RawEntry[] = late.map((entry) => ({ ...entry, local: {} }));

async function read(format: ArchiveFormat, file: ByteFile): Promise<{ entries: string[]; raw: string }> {
  const entries: string[] = [];
  const raw = createHash('sha256');
  const onEntry = ({ name }: ArchiveEntry) => {
    const hash = createHash('sha256');
    return {
      write: (chunk: Uint8Array) => void hash.update(chunk),
      end: async () => void entries.push(`${name} ${hash.digest('hex')}`),
    };
  };
  const onRaw = (bytes: Uint8Array) => void raw.update(bytes);
  await readers[format](file, { streamBytes: Number.POSITIVE_INFINITY, onEntry, onRaw });
  return { entries, raw: raw.digest('hex') };
}

/** Gives fewer bytes than asked for, as a file system may. */
function shortReads(bytes: Buffer): ByteFile {
  const whole = bytesInMemory(bytes);
  let turn = 0;
  return {
    size: bytes.length,
    read: (into, position) => {
      turn += 1;
      return whole.read(into.subarray(0, 1 + ((turn * 77_777) % 300_000)), position);
    },
  };
}

const archives: [string, ArchiveFormat, Buffer][] = [
  ['tar', 'tar', rawTar(files)],
  ['gzip tar', 'tar.gz', gzipSync(rawTar(files), { level: 1 })],
  ['zip', 'zip', rawZip(files)],
  ['zip of stored entries', 'zip', rawZip(stored)],
  ['zip with data descriptors', 'zip', rawZip(late)],
  ['zip with data descriptors, not signed', 'zip', rawZip(unsigned)],
  ['zip with data descriptors and sizes known before', 'zip', rawZip(known)],
];

describe.each(archives)('a %s with files around and above the size of the window', (_, format, archive) => {
  it('yields every file, and every byte of the archive in order', async () => {
    const { entries, raw } = await read(format, bytesInMemory(archive));
    expect(entries).toEqual(expected);
    if (format !== 'zip') expect(raw).toBe(sha256(archive));
  });

  it('yields them when reads are short', async () => {
    expect((await read(format, shortReads(archive))).entries).toEqual(expected);
  });

  it('passes on errors of callbacks and of reading', async () => {
    const stop = new Error('stop');
    const throwing = { streamBytes: largeSize * 10, onEntry: () => Promise.reject(stop) };
    await expect(readers[format](bytesInMemory(archive), throwing)).rejects.toBe(stop);
    let reads = 0;
    const failing: ByteFile = {
      size: archive.length,
      read: async (into, position) => {
        reads += 1;
        if (reads > 3) throw stop;
        return bytesInMemory(archive).read(into, position);
      },
    };
    await expect(read(format, failing)).rejects.toBe(stop);
  });

  it('stops when told to', async () => {
    const seen: string[] = [];
    const onEntry = ({ name }: ArchiveEntry) => {
      seen.push(name);
      return seen.length === 3 ? ('stop' as const) : ('skip' as const);
    };
    await readers[format](bytesInMemory(archive), { streamBytes: largeSize * 10, onEntry });
    expect(seen).toHaveLength(3);
  });
});

describe('a large entry of a zip', () => {
  const large = { name: 'large', content: randomBytes(largeSize) };
  const packed = deflateRawSync(large.content);

  it.each<[string, RawEntry]>([
    ['crc-mismatch', { ...large, both: { crc: 1 } }],
    ['crc-mismatch', { ...large, stored: true, both: { crc: 1 } }],
    ['size-mismatch', { ...large, both: { bytes: largeSize - 1 } }],
    ['size-mismatch', { ...large, both: { bytes: largeSize + 1 } }],
    ['size-mismatch', { ...large, stored: true, both: { packed: largeSize, bytes: largeSize + 1 } }],
    ['hidden-data', { ...large, data: Buffer.concat([packed, Buffer.from('hidden')]) }],
    ['truncated', { ...large, data: packed.subarray(0, -5) }],
    // Set bits are no block of deflate.
    ['corrupt', { ...large, data: Buffer.concat([packed.subarray(0, 3_000_000), Buffer.alloc(2_000_000, 0xff)]) }],
  ])('is refused with %s like a small one', async (rule, entry) => {
    const reading = read('zip', bytesInMemory(rawZip([entry])));
    await expect(reading).rejects.toBeInstanceOf(ArchiveFault);
    await expect(reading).rejects.toMatchObject({ rule });
  });
});

describe('a tar that exceeds the limit', () => {
  it('is abandoned at the limit', async () => {
    const archive = gzipSync(
      Buffer.concat([rawBlock({ name: 'a', content: Buffer.alloc(largeSize) }), Buffer.alloc(1024)]),
    );
    const reading = readers['tar.gz'](bytesInMemory(archive), { streamBytes: 1_000_000, onEntry: () => 'skip' });
    await expect(reading).rejects.toMatchObject({ rule: 'too-many-bytes' });
  });
});
