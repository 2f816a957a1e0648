import { gzipSync } from 'node:zlib';
import type { StructureRule } from '../../../src/exports/rules/verification-rules.ts';
import { rawBlock, rawTar } from './raw-tar.ts';
import { rawZip } from './raw-zip.ts';
import { changed, field, index, named, of, page, pax, type Refusal, tar, zip } from './refusal.ts';
import { gzipWith } from './tar-refusals.ts';
import { extra, narrow } from './zip-bytes.ts';

const link = 0o120777 * 2 ** 16;
const reparsePoint = 0x420;
/** Where a tar's header has its checksum. */
const checksumAt = 148;
const hidden = rawBlock({ name: 'hidden.html', content: '' });

/** Archives that are incomplete, too large, or hold entries that no format should. */
export const generalRefusals: readonly Refusal[] = [
  ...of('empty-file', ['a download of nothing (Z8)', Buffer.alloc(0)]),
  ...of('html-page', ['an error page saved as an archive (Z8)', Buffer.from('<!doctype html><h1>502</h1>')]),
  ...of('xml-document', ['the answer of an object store (Z8)', Buffer.from('<?xml version="1.0"?><Error/>')]),
  ...of('json-document', ['the answer of the service (Z8)', Buffer.from('{"error":"gone"}')]),
  ...of('unsupported-compression', ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0])]),
  ...of('unknown-format', ['a program before a zip (Z6 polyglot)', Buffer.concat([Buffer.from('#!/bin/sh\n'), zip()])]),
  ...of(
    'two-formats',
    ['a zip whose content makes its first block a header of a tar (Z6 polyglot)', [zipAndTar(), zipAndTar(true)]],
    ['a zip with an ISO image in its first file (Z6 polyglot)', rawZip([isoFile(), index])],
  ),

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
    ['a header checksum that does not end, which npm reads on', withChecksum((sum) => sum.padStart(8, '0'))],
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

  ...of(
    'empty-name',
    ['no name', named('')],
    ['a pax header without a name, where BusyBox ends', tar({ ...pax('x', ['path', 'b']), name: '' }, page)],
  ),
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
    ['a filler, which is a letter by its category (Z3)', named('index\u3164.html')],
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
      'the same name again in the Unicode Path extra, not marked as UTF-8',
      zip({ name: 'a', both: { flags: 0, extra: unicodePath('a', 0xe8b7be43) } }),
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
  ...of('reserved-name', [
    'CON and NUL (Z3)',
    ['con', 'a/NUL.html', 'aux .html', 'CONIN$', 'a/conout$.txt'].flatMap(named),
  ]),
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
  ...of('closed-folder', [
    'folders that BusyBox cannot fill',
    [
      tar({ name: 'd/', type: '5', change: field(100, '0000555') }),
      zip({ name: 'd/', attributes: 0o040555 * 2 ** 16 }),
      zip({ name: 'd/', attributes: 0x10 }),
    ],
  ]),
  ...of('closed-file', [
    'files that no server can read',
    [0o000, 0o044, 0o200].flatMap((mode) => [
      tar({ name: 'x', change: field(100, `000${mode.toString(8).padStart(4, '0')}`) }),
      zip({ name: 'x', attributes: (0o100000 | mode) * 2 ** 16 }),
    ]),
  ]),
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
    [
      'a file by its type, and something else by its mode, which Go believes',
      ['0040755', '0120777', '0020666', '0060644', '0010644', '0140644'].map((mode) =>
        tar({ name: 'x', change: field(100, mode) }),
      ),
    ],
    ['a folder by its type, and a file by its mode', tar({ name: 'd/', type: '5', change: field(100, '0100755') })],
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
];

/** A file whose header says its checksum, of six octal digits, in another form. */
function withChecksum(form: (sum: string) => string): Buffer {
  const archive = tar(page);
  const at = archive.indexOf('a.html') + 148;
  archive.write(form(archive.toString('latin1', at, at + 6)), at, 'latin1');
  return archive;
}

function bomb(rule: StructureRule, shows: string): Refusal {
  return { rule, shows, archive: zip({ ...page, both: { bytes: 0xfffffffe } }) };
}

function unicodePath(name: string, crc: number): Buffer {
  return extra(0x7075, Buffer.concat([Buffer.from([1]), narrow(crc), Buffer.from(name)]));
}

/** The sum of a tar's header; old writers took bytes for signed numbers. */
function tarSum(archive: Buffer, signed = false): number {
  const block = Buffer.from(archive.subarray(0, 512)).fill(' ', checksumAt, checksumAt + 8);
  return Array.from(signed ? Int8Array.from(block) : block).reduce((sum, byte) => sum + byte, 0);
}

/** The CRC of the content is a part of the first block: contents are tried until the sum is the one that stands in it. */
function zipAndTar(signed = false): Buffer {
  const content = Buffer.alloc(600);
  const make = () => rawZip([{ name: 'a', content, stored: true }, index]);
  const wanted = tarSum(make(), signed);
  content.write(`${wanted.toString(8).padStart(6, '0')}\0 `, checksumAt - 31, 'latin1');
  for (let tried = 1; ; tried += 1) {
    content.writeUInt32LE(tried, 400);
    const made = make();
    if (tarSum(made, signed) === wanted) return made;
  }
}

function isoFile() {
  const content = Buffer.alloc(40_000);
  content.write('CD001', 32_769 - 31, 'latin1');
  return { name: 'a', content, stored: true };
}
