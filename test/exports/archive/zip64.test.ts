import { describe, expect, it } from 'vitest';
import { ByteWindow } from '../../../src/exports/archive/byte-window.ts';
import { readDescriptor, readLocalHeader } from '../../../src/exports/archive/read-zip.ts';
import { CentralEntries } from '../../../src/exports/archive/zip-records.ts';
import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { rawZip, zip64Records } from '../../tools/archives/raw-zip.ts';
import { extra, narrow, wide, zipCentralHeader, zipLocalHeader } from '../../tools/archives/zip-bytes.ts';

const gib = 1024 ** 3;
const in32Bits = 0xffffffff;
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
  const entry = await new CentralEntries(windowOf(header), directory).next();
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
