import { crc32, deflateRawSync } from 'node:zlib';
import { type RawEnd, type RawEntry, rawZip, zip64Records } from './raw-zip.ts';
import { changed, index, of, page, pagePacked, type Refusal, tar, zip } from './refusal.ts';
import { extra, narrow, wide } from './zip-bytes.ts';

const descriptor = 0x808;
const in32Bits = 0xffffffff;
const zipEnding = (end: RawEnd) => rawZip([index, page], end);
const pageCrc = (() => rawZip([page]).readUInt32LE(14))();

/** Archives that break a rule about zip, or hold bytes that belong to nothing. */
export const zipRefusals: readonly Refusal[] = [
  ...of(
    'hidden-data',
    ['padding that is not zero', tar({ ...page, padding: 1 })],
    ['a gap between entries (Z6)', zip({ ...page, before: Buffer.from('gap') })],
    ['an entry that is only there locally (Z6)', zip({ ...page, before: rawZip([page]).subarray(0, 30) })],
    ['a gap before the directory (Z6)', zip({ ...page, descriptor: Buffer.from('gap') })],
    ['prefix data that the offsets count (Z6)', zipPrefixed()],
    ['bytes behind the end of the compressed data (Z5)', behindDeflate()],
  ),

  ...of(
    'zip-directory',
    ['prefix data that the offsets leave out (Z6)', Buffer.concat([zip().subarray(0, 4), zip()])],
    ['entry-count lies (Z5)', [zipEnding({ entries: 1 }), zipEnding({ entries: 3 })]],
    ['a directory that lies elsewhere', zipEnding({ start: 1 })],
    ['no directory where one should be', changed(rawZip([index]), rawZip([index]).indexOf('PK\x01\x02') + 1, 0)],
  ),
  ...of(
    'two-ends',
    ['two end records (Z6)', endInEntryComment()],
    ['another end before one in 64 bits, which BusyBox takes', endBefore64()],
  ),
  ...of('meta-too-long', [
    'comments behind which bsdtar or Java finds no directory',
    [zipEnding({ comment: Buffer.alloc(8193, 'x') }), zip({ ...page, comment: Buffer.alloc(8193, 'x') })],
  ]),
  ...of('ambiguous-type', [
    'a file with an attribute of folders, devices or unknown meaning',
    [0x10, 0x40, 0x200, 0x1000].map((bits) => zip({ ...page, attributes: 0o100644 * 2 ** 16 + bits })),
  ]),
  ...of(
    'zip64',
    ['a 64-bit end that is missing (Z6)', zipEnding({ entries: 0xffff })],
    ['a 64-bit end that disagrees (Z6)', zipEnding({ before: (told) => zip64Records({ ...told, entries: 1 }) })],
    [
      'a 64-bit end that is longer (Z6)',
      zipEnding({ before: (told) => zip64Records(told, (record) => record.writeUInt8(60, 4)) }),
    ],
    [
      'a 64-bit extra that is too long (Z6)',
      zip({ ...page, central: { bytes: 0xffffffff, extra: extra(1, wide(40, 1)) } }),
    ],
    [
      'a 64-bit extra that is too short (Z6)',
      zip({ ...page, central: { bytes: 0xffffffff, extra: extra(1, narrow(40)) } }),
    ],
    [
      'a place in 64 bits where the end has 32, which BusyBox skips',
      zip({ ...page, offset: in32Bits, central: { extra: extra(1, wide(43)) } }),
    ],
    [
      'one local size in 64 bits',
      [
        zip({ ...page, local: { packed: in32Bits, extra: extra(1, wide(pagePacked)) } }),
        zip({ ...page, local: { packed: in32Bits, extra: extra(1, wide(40, pagePacked)) } }),
      ],
    ],
    ['64-bit sizes beside others', zip({ ...page, local: { extra: extra(1, wide(pagePacked, 40)) } })],
    ['a 64-bit extra that nothing asks for (Z6)', zip({ ...page, central: { extra: extra(1, wide(40)) } })],
  ),
  ...of('multi-disk', ['several disks (Z6)', [zipEnding({ disk: 1 }), zip({ ...page, disk: 1 })]]),
  ...of(
    'headers-disagree',
    ['another name (Z6)', zip({ ...page, local: { name: Buffer.from('b.html') } })],
    ['another size (Z6)', zip({ ...page, local: { bytes: 39 } })],
    ['another method (Z6)', zip({ ...page, local: { method: 0 } })],
    ['other flags (Z6)', zip({ ...page, local: { flags: 0 } })],
    ['a data descriptor that only the directory mentions', zip({ ...page, central: { flags: descriptor } })],
    ['another CRC (Z6)', zip({ ...page, local: { crc: 1 } })],
    ['an entry that is only in the directory (Z6)', zip({ ...page, local: { name: Buffer.alloc(0) } })],
  ),
  ...of(
    'overlap',
    ['two names for the same bytes (Z5)', zip(page, { ...page, name: 'b.html', offset: 0 })],
    ['a quoted overlap (Z5)', quotedOverlap()],
    ['content that reaches into the directory', zip({ ...page, both: { packed: 5000 } })],
  ),
  ...of(
    'data-descriptor',
    [
      'one that lies (Z6)',
      zip({ ...page, both: { flags: descriptor }, descriptor: narrow(0x08074b50, pageCrc, pagePacked, 41) }),
    ],
    [
      'one behind content that is not compressed and holds its mark, or one without a mark',
      [zip({ ...storedLate('a PK\x07\x08 b') }), zip({ ...storedLate('a'), descriptor: narrow(crc32('a'), 1, 1) })],
    ],
    ['one that is missing', zip({ ...page, both: { flags: descriptor } })],
    ['one of 64 bits that ends the archive for Java', rawZip([{ ...streamed(''), name: '.nojekyll' }, streamed('x')])],
    ['one of 32 bits behind a header of 64', zip({ ...streamed('x'), descriptor: descriptorOf('x', narrow) })],
    [
      '64-bit sizes for an entry without',
      zip({ ...page, both: { flags: descriptor }, descriptor: Buffer.concat([narrow(pageCrc), wide(pagePacked, 40)]) }),
    ],
  ),
  ...of(
    'extra-field',
    ['one that is cut', zip({ ...page, both: { extra: Buffer.from([1, 2, 3]) } })],
    ['a symbolic link by ASi, which unzip makes', zip({ name: 'l', content: '/', both: { extra: asi() } })],
    [
      'malformed times and owners',
      [
        extra(0x5455, Buffer.from([1])),
        extra(0x5455, Buffer.alloc(0)),
        extra(0x7875, Buffer.from([1, 9, 0])),
        extra(0x000a, Buffer.alloc(7)),
        extra(0x5855, Buffer.alloc(3)),
      ].map((made) => zip({ ...page, both: { extra: made } })),
    ],
    ['an unknown kind', zip({ ...page, both: { extra: extra(0x1234, narrow(1)) } })],
    ['one that is too long', zip({ ...page, both: { extra: Buffer.from([9, 0, 200, 0]) } })],
    [
      'a duplicate 64-bit extra (Z6)',
      zip({ ...page, central: { bytes: 0xffffffff, extra: Buffer.concat([extra(1, wide(40)), extra(1, wide(41))]) } }),
    ],
  ),
  ...of('zip-version', ['an entry that unzip leaves out', zip({ ...page, both: { needed: 46 } })]),
  ...of('zip-system', ['VMS and Amiga', [2, 1].map((system) => zip({ ...page, system }))]),
  ...of('zip-flags', ['a patch', zip({ ...page, both: { flags: 0x820 } })]),
  ...of('encrypted', [
    'encryption flags (Z6)',
    [0x801, 0x840, 0x2800].map((flags) => zip({ ...page, both: { flags } })),
  ]),
  ...of('compression-method', [
    'unknown methods (Z6)',
    [9, 12, 14, 93, 99].map((method) => zip({ ...page, both: { method } })),
  ]),
];

function descriptorOf(content: string, numbers: typeof wide): Buffer {
  const sizes = numbers(deflateRawSync(content).length, content.length);
  return Buffer.concat([narrow(0x08074b50, crc32(content)), sizes]);
}

function storedLate(content: string): RawEntry {
  const told = narrow(0x08074b50, crc32(content), content.length, content.length);
  return { name: 'a', content, stored: true, both: { flags: descriptor }, descriptor: told };
}

/** As Python and stream-zip write it into a pipe. */
function streamed(content: string): RawEntry {
  const local = { crc: 0, packed: in32Bits, bytes: in32Bits, extra: extra(1, wide(0, 0)) };
  return { name: 'a.html', content, both: { flags: descriptor }, local, descriptor: descriptorOf(content, wide) };
}

function endBefore64(): Buffer {
  const content = Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]);
  const entries = [index, { name: 'x', content, stored: true }];
  return rawZip(entries, { start: in32Bits, before: (told) => zip64Records(told) });
}

/** A symbolic link by its mode, behind a checksum. */
function asi(): Buffer {
  const fields = Buffer.concat([Buffer.from([0xff, 0xa1]), narrow(1), Buffer.alloc(4), Buffer.from('/')]);
  return extra(0x756e, Buffer.concat([narrow(crc32(fields)), fields]));
}

/** The first bytes are those of a zip, but belong to no entry. */
function zipPrefixed(): Buffer {
  return rawZip([{ ...index, before: Buffer.from('PK\x03\x04 something else') }]);
}

function behindDeflate(): Buffer {
  const data = rawZip([page]).subarray(30 + page.name.length, 30 + page.name.length + pagePacked);
  return zip({ ...page, data: Buffer.concat([data, Buffer.from('hidden')]) });
}

/** The comment of an entry would do, too: any place before the end whose "comment" reaches exactly to the end. */
function endInEntryComment(): Buffer {
  const false_ = Buffer.alloc(22);
  false_.write('PK\x05\x06', 'latin1');
  const made = rawZip([index, { name: 'x', content: false_, stored: true }]);
  const at = made.indexOf('PK\x05\x06');
  made.writeUInt16LE(made.length - at - 22, at + 20);
  const content = made.subarray(at, at + 22);
  return rawZip([index, { name: 'x', content: Buffer.from(content), stored: true }]);
}

/** The first entry's content, stored, is the header and content of the second. */
function quotedOverlap(): Buffer {
  const inner = rawZip([page]);
  const quoted = inner.subarray(0, inner.indexOf('PK\x01\x02'));
  const outer: RawEntry = { name: 'q.html', content: Buffer.from(quoted), stored: true };
  const quotedAt = 30 + outer.name.length;
  return rawZip([outer, { ...page, offset: quotedAt }]);
}
