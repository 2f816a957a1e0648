import { crc32, gzipSync } from 'node:zlib';
import type { StructureRule } from '../../../src/bundle/rules/structure-rules.ts';
import { paxRecords, type RawBlock, rawBlock, rawTar } from './raw-tar.ts';
import { type RawEnd, type RawEntry, rawZip, zip64Records } from './raw-zip.ts';
import { extra, narrow, wide } from './zip-bytes.ts';

/** An archive that breaks one rule and no other, and the case it stands for (docs/bad-input.md). */
export interface Refusal {
  rule: StructureRule;
  shows: string;
  archive: Buffer;
  limits?: { maxBytes?: number; maxFiles?: number };
  timeLimitMs?: number;
}

const index = { name: 'index.html', content: '<h1>Home</h1>' };
const page = { name: 'a.html', content: 'a'.repeat(40) };
const descriptor = 0x808;
const link = 0o120777 * 2 ** 16;
const reparsePoint = 0x420;

const tar = (...blocks: RawBlock[]) => rawTar([index, ...blocks]);
const zip = (...entries: RawEntry[]) => rawZip([index, ...entries]);
const zipEnding = (end: RawEnd) => rawZip([index, page], end);
const named = (name: string) => [tar({ name, content: 'x' }), zip({ name, content: 'x' })];
const hidden = rawBlock({ name: 'hidden.html', content: '' });
const pageCrc = (() => rawZip([page]).readUInt32LE(14))();
const pagePacked = (() => rawZip([page]).readUInt32LE(18))();

function field(at: number, text: string): (header: Buffer) => void {
  return (header) => void header.write(text, at, 'latin1');
}

function pax(type: 'x' | 'g', ...records: [string, string][]): RawBlock {
  return { name: 'PaxHeader', type, content: paxRecords(...records) };
}

function changed(archive: Buffer, at: number, byte: number): Buffer {
  const copy = Buffer.from(archive);
  copy[at < 0 ? copy.length + at : at] = byte;
  return copy;
}

function of(rule: StructureRule, ...cases: [string, Buffer | Buffer[]][]): Refusal[] {
  return cases.flatMap(([shows, made]) => [made].flat().map((archive) => ({ rule, shows, archive })));
}

/** A whole gzip header with every optional part, made unreadable in one way. */
function gzipWith(flags: number, rest: Buffer): Buffer {
  const packed = gzipSync(rawTar([index]));
  const head = Buffer.from(packed.subarray(0, 10));
  head[3] = flags;
  return Buffer.concat([head, rest, packed.subarray(10)]);
}

export const refusedArchives: Refusal[] = [
  ...of('empty-file', ['a download of nothing (Z8)', Buffer.alloc(0)]),
  ...of('html-page', ['an error page saved as an archive (Z8)', Buffer.from('<!doctype html><h1>502</h1>')]),
  ...of('xml-document', ['the answer of an object store (Z8)', Buffer.from('<?xml version="1.0"?><Error/>')]),
  ...of('json-document', ['the answer of the service (Z8)', Buffer.from('{"error":"gone"}')]),
  ...of('unsupported-compression', ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0])]),
  ...of('unknown-format', ['a program before a zip (Z6 polyglot)', Buffer.concat([Buffer.from('#!/bin/sh\n'), zip()])]),

  ...of(
    'truncated',
    ['no end blocks (T1)', rawTar([index], Buffer.alloc(0))],
    ['one end block (T1)', rawTar([index], Buffer.alloc(512))],
    ['cut within a file (Z8)', tar(page).subarray(0, 1600)],
    ['cut within the gzip data (Z8)', gzipSync(tar(page)).subarray(0, -20)],
    ['cut within the gzip end (Z8)', gzipSync(tar(page)).subarray(0, -3)],
    ['a zip without its end (Z8)', zip(page).subarray(0, -30)],
    ['a comment that is longer than the file (Z8)', changed(zip(page), -2, 9)],
    ['compressed data that stops in the middle', zip({ name: 'x', content: 'xyz', data: Buffer.from([0x4b]) })],
  ),
  ...of(
    'trailing-data',
    ['an archive behind the end blocks (T1)', Buffer.concat([tar(), rawTar([page])])],
    ['an entry behind a single zero block (T1)', rawTar([index], Buffer.concat([Buffer.alloc(512), rawTar([page])]))],
    ['a part of a block', Buffer.concat([tar(), Buffer.alloc(100)])],
    ['garbage behind the gzip data (T1)', Buffer.concat([gzipSync(tar()), Buffer.from('garbage')])],
    ['zeros behind the gzip data (T1)', Buffer.concat([gzipSync(tar()), Buffer.alloc(8)])],
    ['suffix data behind a zip (Z6)', Buffer.concat([zip(), Buffer.from('suffix')])],
  ),
  ...of(
    'corrupt',
    ['a wrong header checksum', changed(tar(), 0, 0x49)],
    ['a wrong gzip CRC', changed(gzipSync(tar()), -8, 1)],
    ['no tar in the gzip data', gzipSync('x'.repeat(2000))],
    ['no deflate data in a zip', zip({ name: 'x', content: 'xyz', data: Buffer.from([0xff, 0xff]) })],
    ['a wrong gzip header CRC', gzipWith(2, Buffer.from([1, 2]))],
  ),
  ...of(
    'size-mismatch',
    ['a lying size, smaller (Z5)', zip({ ...page, both: { bytes: 39 } })],
    ['a lying size, larger (Z5)', zip({ ...page, both: { bytes: 41 } })],
    ['stored, with two sizes', zip({ ...page, stored: true, both: { packed: 40, bytes: 39 } })],
    ['a wrong length at the end of the gzip data', changed(gzipSync(tar()), -1, 1)],
  ),
  ...of(
    'crc-mismatch',
    ['a wrong CRC', zip({ ...page, both: { crc: 7 } })],
    ['a CRC of zero with data (Z7)', zip({ ...page, both: { crc: 0 } })],
  ),
  ...of('no-files', ['a zip of nothing (Z8)', rawZip([])], ['folders alone', rawTar([{ name: 'a/', type: '5' }])]),

  { ...bomb('too-many-bytes', 'a lying size far above the limit (Z5)'), limits: { maxBytes: 1000 } },
  {
    rule: 'too-many-files',
    shows: 'huge entry counts (Z5)',
    archive: tar(page, { name: 'b' }),
    limits: { maxFiles: 2 },
  },
  ...of('ratio', ['a bomb of zeros (Z5)', zip({ name: 'z', content: Buffer.alloc(3_000_000) })]),
  { rule: 'time-limit', shows: 'an archive that takes for ever', archive: tar(), timeLimitMs: 0 },

  ...of('empty-name', ['no name', named('')]),
  ...of(
    'absolute-path',
    ['a path from the root (Z1)', named('/etc/passwd')],
    ['a name that pax replaces', tar(pax('x', ['path', 'a']), { name: '/x' })],
  ),
  ...of(
    'path-traversal',
    ['../ (Z1)', [...named('../x'), ...named('a/../../x'), tar(pax('x', ['path', '../x']), page)]],
    ['a name that pax replaces', tar(pax('x', ['path', 'a']), { name: '../x' })],
    ['a prefix that pax replaces', tar(pax('x', ['path', 'a']), { name: 'x', change: field(345, '../..') })],
  ),
  ...of(
    'backslash',
    ['..\\ and UNC (Z1)', [...named('..\\x'), ...named('\\\\server\\share')]],
    ['a backslash within a name (Z3)', named('a\\b')],
    ['a name that pax replaces', tar(pax('x', ['path', 'a']), { name: '..\\x' })],
  ),
  ...of('drive-letter', ['C: (Z1)', named('C:/x')]),
  ...of('colon', ['name:stream (Z1)', named('a/index.html:hidden')]),
  ...of(
    'control-character',
    ['control characters (Z3)', named('a\u0007b')],
    ['NUL in a zip name (Z3)', zip({ name: 'a.html\0.png' })],
    ['NUL in a pax value (T1)', tar(pax('x', ['path', 'a\0b']), page)],
  ),
  ...of(
    'invisible-character',
    ['bidi override (Z3)', named('a\u202elmth.exe')],
    ['zero width space (Z3)', named('in\u200bdex.html')],
  ),
  ...of(
    'not-utf8',
    ['names that are not UTF-8 (Z3)', zip({ name: 'x', both: { name: Buffer.from([0x61, 0xff]) } })],
    ['a comment that is not UTF-8', zip({ ...page, comment: Buffer.from([0xff]) })],
  ),
  ...of('unicode-form', ['decomposed, which bsdtar composes', named('cafe\u0301.html')]),
  ...of(
    'ambiguous-name',
    ['made on DOS, marked as UTF-8, which unzip changes', zip({ name: 'caf\u00e9.html', system: 0 })],
    ['CP437 or UTF-8 (Z3)', zip({ name: 'caf\u00e9.html', both: { flags: 0 } })],
    ['another name in the Unicode Path extra (Z3)', zip({ name: 'a', both: { extra: unicodePath('b', 0xe8b7be43) } })],
    [
      'the same name again in the Unicode Path extra',
      zip({ name: 'a', both: { extra: unicodePath('a', 0xe8b7be43) } }),
    ],
    ['a Unicode Path for some other name (Z3)', zip({ name: 'a', both: { extra: unicodePath('a', 1) } })],
  ),
  ...of('empty-segment', ['an empty segment (Z3)', [...named('a//b'), tar({ name: 'a/', content: 'x' })]]),
  ...of('dot-segment', ['a dot', named('a/./b')]),
  ...of('trailing-dot-or-space', ['a trailing dot or space (Z3)', [...named('a./b'), ...named('a/b ')]]),
  ...of('version-suffix', [
    'a version of VMS, which unzip drops',
    [...named('index.html;1'), ...named('index.html;'), ...named('a;7/b')],
  ]),
  ...of('reserved-name', ['CON and NUL (Z3)', [...named('con'), ...named('a/NUL.html')]]),
  ...of('path-too-long', ['over 1,024 bytes', zip({ name: `${'dir/'.repeat(260)}x` })]),
  ...of('segment-too-long', ['a segment over 255 bytes (Z3)', zip({ name: 'x'.repeat(256) })]),
  ...of('duplicate-name', ['duplicates (Z4)', named('index.html')]),
  ...of(
    'name-collision',
    ['by case (Z4)', named('INDEX.html')],
    ['a ligature and its letters (Z4)', tar({ name: '\ufb01' }, { name: 'fi' })],
    ['\u00df and SS (Z2)', zip({ name: 'stra\u00dfe' }, { name: 'STRASSE' })],
    ['\u1e9e and \u00df (Z2)', zip({ name: 'stra\u00dfe' }, { name: 'stra\u1e9ee' })],
    ['by a joiner', zip({ name: 'a\u200db' }, { name: 'ab' })],
  ),
  ...of('file-as-folder', ['a file that is also a folder (Z4)', named('index.html/x')]),

  ...of('symbolic-link', [
    'symlinks (Z2)',
    [tar({ name: 'l', type: '2' }), zip({ name: 'l', content: '/', attributes: link })],
  ]),
  ...of(
    'symbolic-link',
    ['a reparse point of Windows (Z2)', zip({ name: 'l', content: '/', attributes: reparsePoint })],
    ['headers in the data of a link (T1)', tar({ name: 'l', type: '2', content: hidden })],
  ),
  ...of(
    'hard-link',
    ['hard links (Z2)', tar({ name: 'l', type: '1' })],
    ['a file that names a target, which BusyBox follows (T1)', tar({ name: 'l', change: field(157, 'index.html') })],
    ['a folder that names a target (T1)', tar({ name: 'l/', type: '5', change: field(157, 'index.html') })],
    ['headers in the data of a hard link (T1)', tar({ name: 'l', type: '1', content: hidden })],
  ),
  ...of(
    'device',
    ['devices and pipes (Z2)', ['3', '4', '6'].map((type) => tar({ name: 'd', type }))],
    ['headers in the data of a device (T1)', tar({ name: 'd', type: '3', content: hidden })],
    ['a pipe by its mode (Z2)', zip({ name: 'd', attributes: 0o010644 * 2 ** 16 })],
  ),
  ...of('special-mode', [
    'setuid, setgid and sticky',
    [0o4755, 0o2755, 0o1755].flatMap((mode) => [
      tar({ name: 'x', change: field(100, `000${mode.toString(8)}`) }),
      zip({ name: 'x', attributes: (0o100000 | mode) * 2 ** 16 }),
    ]),
  ]),
  ...of('entry-type', [
    'contiguous files and unknown types',
    ['7', 'S', 'D', 'Z'].map((type) => tar({ name: 'x', type })),
  ]),
  ...of('sparse', ['a sparse file of pax (T1)', tar(pax('x', ['GNU.sparse.major', '1']), page)]),
  ...of(
    'ambiguous-type',
    ['a folder by its mode alone', zip({ name: 'a', attributes: 0o040755 * 2 ** 16 })],
    ['a file by its mode with a slash', zip({ name: 'a/', attributes: 0o100644 * 2 ** 16 })],
    ['the label of a disk, which unzip leaves out', zip({ name: 'a', attributes: 0x08, system: 0 })],
    ['an old file with a slash below its long name', tar(pax('x', ['path', 'a']), { name: 'x/', type: '\0' })],
  ),
  ...of(
    'data-on-directory',
    ['headers in the data of a folder (T1)', tar({ name: 'd/', type: '5', content: hidden })],
    ['a zip folder with content', zip({ name: 'd/', content: 'x' })],
  ),

  ...of(
    'gzip-header',
    ['an unknown method', changed(gzipSync(tar()), 2, 7)],
    ['unknown flags', changed(gzipSync(tar()), 3, 0x20)],
    ['an endless comment', gzipWith(16, Buffer.alloc(70_000, 0x20))],
  ),
  ...of('gzip-members', ['concatenated members (T1)', Buffer.concat([gzipSync(tar()), gzipSync(rawTar([page]))])]),
  ...of('tar-dialect', [
    'neither ustar nor GNU',
    gzipSync(tar({ name: 'x', change: (header) => void header.fill(0, 257, 265) })),
  ]),
  ...of(
    'header-field',
    ['letters in the size', tar({ name: 'x', change: field(124, '0000000001x\0') })],
    ['a negative size', tar({ name: 'x', change: field(124, '-0000000001\0') })],
    ['a small size in base 256', tar({ name: 'x', change: field(124, '\x80\0\0\0\0\0\0\0\0\0\0\x01') })],
    ['letters in the mode', tar({ name: 'x', change: field(100, '00v0644') })],
    ['a time that is no number', tar({ name: 'x', change: field(136, '\xff\xff') })],
    ['a time that no date can be', tar({ name: 'x', change: field(136, '\x80\0\0\0\0\x1a\0\x10') })],
    ['an owner in base 256 that octal could hold', tar({ name: 'x', change: field(108, '\x80\0\0\0\0\0\0\x01') })],
    ['a long name that names a target', tar({ ...long('a.html\0'), change: field(157, 'x') }, page)],
    ['bytes behind the NUL of a link name', tar({ name: 'x', change: field(200, 'hidden') })],
    ['bytes behind the NUL of a name', tar({ name: 'x', change: field(50, 'hidden') })],
    ['a GNU header with a prefix', tar({ name: 'x', gnu: true, change: field(345, 'prefix') })],
    ['bytes behind the last field', tar({ name: 'x', change: field(508, 'tar\0') })],
  ),
  ...of(
    'pax-record',
    ['a wrong length', tar({ name: 'p', type: 'x', content: '99 path=x\n' }, page)],
    ['no record at all', tar({ name: 'p', type: 'x' }, page)],
    ['no equals sign', tar({ name: 'p', type: 'x', content: '9 pathxx\n' }, page)],
    ['a size that is no number', tar(pax('x', ['size', '1e1']), page)],
    ['a time that is no number', tar(pax('x', ['mtime', 'now']), page)],
    ['an owner that is no number', tar(pax('x', ['uid', '0x1']), page)],
    [
      'a newline in a value, which npm takes for the next record',
      tar(pax('x', ['comment', 'x\n14 path=b.html']), page),
    ],
    ['NUL in the value of another key than a path', tar(pax('x', ['uname', 'a\0b']), page)],
    ['an owner that is not UTF-8', tar({ ...pax('x'), content: Buffer.from('11 uname=\xff\n', 'latin1') }, page)],
  ),
  ...of(
    'pax-duplicate',
    ['duplicate keys (T1)', tar(pax('x', ['path', 'a'], ['path', 'b']), page)],
    ['two headers for one entry', tar(pax('x', ['path', 'a']), pax('x', ['mtime', '1']), page)],
  ),
  ...of(
    'pax-keyword',
    ['NUL in a key', tar(pax('x', ['path\0x', 'b.html']), page)],
    ['a newline in a key', tar(pax('x', ['x\n13 path', 'b.html']), page)],
    ['the target of a link', tar(pax('x', ['linkpath', 'index.html']), page)],
    [
      'attributes and flags',
      ['SCHILY.xattr.security.capability', 'SCHILY.fflags', 'SCHILY.acl.access', 'RHT.security.selinux'].map((key) =>
        tar(pax('x', [key, 'x']), page),
      ),
    ],
    ['a key that objects have', tar(pax('x', ['constructor', 'x']), page)],
    ['access lists for all entries', tar(pax('g', ['SCHILY.acl.default', 'x']), page)],
  ),
  ...of('pax-global', [
    'a path or size for all (T1)',
    [tar(pax('g', ['path', 'x']), page), tar(pax('g', ['size', '0']), page)],
  ]),
  ...of('pax-charset', ['hdrcharset (T1)', tar(pax('x', ['hdrcharset', 'BINARY']), page)]),
  ...of('pax-disagrees', [
    'TARmageddon: a size override (T1)',
    tar(pax('x', ['size', '512']), { ...page, content: '' }),
  ]),
  ...of(
    'gnu-long-name',
    ['GNU and pax names at once (T1)', tar(pax('x', ['path', 'b']), long('a.html\0'), page)],
    ['two long names', tar(long('a.html\0'), long('a.html\0'), page)],
    ['another name than in the header', tar(long('b.html\0'), page)],
    ['a name behind its NUL', tar(long('a.html\0b\0'), page)],
    ['the name of a link before a file', tar({ ...long('x\0'), type: 'K' }, page)],
  ),
  ...of('meta-too-long', [
    'a pax header of 300 KB',
    tar({ name: 'p', type: 'x', content: Buffer.alloc(300_000) }, page),
  ]),
  ...of(
    'dangling-header',
    ['a pax header before the end', tar(pax('x', ['path', 'a']))],
    ['a header for all entries before the end, which Python refuses', tar(pax('g', ['comment', 'x']))],
    [
      'a header for all entries before its entry, where Go loses the name',
      tar(long('a.html\0'), pax('g', ['comment', 'x']), page),
    ],
  ),
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
  ...of('two-ends', ['two end records (Z6)', endInEntryComment()]),
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
    ['a 64-bit end that 32 bits could hold', zipEnding({ before: (told) => zip64Records(told), entries: 0xffff })],
    [
      'a 64-bit extra that 32 bits could hold',
      zip({ ...page, both: { packed: 0xffffffff, bytes: 0xffffffff, extra: extra(1, wide(40, pagePacked)) } }),
    ],
    ['a 64-bit extra that nothing asks for (Z6)', zip({ ...page, central: { extra: extra(1, wide(40)) } })],
  ),
  ...of('multi-disk', ['several disks (Z6)', [zipEnding({ disk: 1 }), zip({ ...page, disk: 1 })]]),
  ...of(
    'headers-disagree',
    ['another name (Z6)', zip({ ...page, local: { name: Buffer.from('b.html') } })],
    ['another size (Z6)', zip({ ...page, local: { bytes: 39 } })],
    ['another method (Z6)', zip({ ...page, local: { method: 0 } })],
    ['other flags (Z6)', zip({ ...page, local: { flags: 0 } })],
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
      'one behind an entry that is not compressed, which Java refuses',
      zip({ ...page, stored: true, both: { flags: descriptor }, descriptor: narrow(0x08074b50, pageCrc, 40, 40) }),
    ],
    ['one that is missing', zip({ ...page, both: { flags: descriptor } })],
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

function bomb(rule: StructureRule, shows: string): Refusal {
  return { rule, shows, archive: zip({ ...page, both: { bytes: 0xfffffffe } }) };
}

/** A symbolic link by its mode, behind a checksum. */
function asi(): Buffer {
  const fields = Buffer.concat([Buffer.from([0xff, 0xa1]), narrow(1), Buffer.alloc(4), Buffer.from('/')]);
  return extra(0x756e, Buffer.concat([narrow(crc32(fields)), fields]));
}

function long(name: string): RawBlock {
  return { name: '././@LongLink', type: 'L', content: name, gnu: true };
}

function unicodePath(name: string, crc: number): Buffer {
  return extra(0x7075, Buffer.concat([Buffer.from([1]), narrow(crc), Buffer.from(name)]));
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
