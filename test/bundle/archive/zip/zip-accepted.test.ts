import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { verifyBytes } from '../../../../src/bundle/verification/verify-archive.ts';
import { bytesInMemory } from '../../../tools/archives/bytes-in-memory.ts';
import { type RawEntry, rawZip } from '../../../tools/archives/raw-zip.ts';
import { extra, narrow } from '../../../tools/archives/zip-bytes.ts';

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
});
