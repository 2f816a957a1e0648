import { gzipSync } from 'node:zlib';
import { type RawBlock, rawTar } from './raw-tar.ts';
import { changed, field, index, long, of, page, pax, type Refusal, tar } from './refusal.ts';

const old: RawBlock = { name: 'x', change: (header) => void header.fill(0, 257, 265) };

/** Archives that break a rule about gzip or tar. */
export const tarRefusals: readonly Refusal[] = [
  ...of(
    'gzip-header',
    ['an unknown method', changed(gzipSync(tar()), 2, 7)],
    ['unknown flags', changed(gzipSync(tar()), 3, 0x20)],
    ['a name that is too long for Go', gzipWith(8, Buffer.alloc(513).fill(0x61, 0, 512))],
    ['an endless comment', gzipWith(16, Buffer.alloc(70_000, 0x20))],
    ['an extra field that is too long for BusyBox', gzipWith(4, extraField(16_384))],
  ),
  ...of('gzip-members', ['concatenated members (T1)', Buffer.concat([gzipSync(tar()), gzipSync(rawTar([page]))])]),
  ...of('tar-dialect', ['neither ustar nor GNU', [rawTar([old, page]), gzipSync(rawTar([old, page]))]]),
  ...of('control-character', [
    'an archive in uuencoded lines, which bsdtar unpacks instead, as a name that no reader uses (T1)',
    [
      [uuencoded(pax('x', ['path', page.name])), page],
      [uuencoded(pax('g', ['comment', 'x'])), page],
      [uuencoded(long(`${page.name}\0`)), page],
      [pax('x', ['path', page.name]), uuencoded(page)],
    ].flatMap((blocks) => [rawTar(blocks), gzipSync(rawTar(blocks))]),
  ]),
  ...of('two-formats', [
    'the mark of another compression, which bsdtar obeys (T1)',
    ['BZh91AY&SY.html', '\x28\xb5\x2f\xfd', '\xfd7zXZ\0'].flatMap((name) => {
      const archive = rawTar([{ ...pax('x', ['path', page.name]), change: field(0, name) }, page]);
      return [archive, gzipSync(archive)];
    }),
  ]),
  ...of(
    'header-field',
    ['letters in the size', tar({ name: 'x', change: field(124, '0000000001x\0') })],
    ['a negative size', tar({ name: 'x', change: field(124, '-0000000001\0') })],
    ['a small size in base 256', tar({ name: 'x', change: field(124, '\x80\0\0\0\0\0\0\0\0\0\0\x01') })],
    ['letters in the mode', tar({ name: 'x', change: field(100, '00v0644') })],
    ['a mode in base 256, at which 7-Zip stops', tar({ name: 'x', change: field(100, '\x80\0\0\0\0\x20\x01\xa4') })],
    ['a mode of more than 16 bits', tar({ name: 'x', change: field(100, '0200644\0') })],
    ['a time that is no number', tar({ name: 'x', change: field(136, '\xff\xff') })],
    ['a time that no date can be', tar({ name: 'x', change: field(136, '\x80\0\0\0\0\x1a\0\x10') })],
    ['an owner beyond 32 bits', tar({ name: 'x', change: field(108, '\x80\0g\0;\x9a\xca\0') })],
    ['an owner in base 256 that octal could hold', tar({ name: 'x', change: field(108, '\x80\0\0\0\0\0\0\x01') })],
    ['a device number in base 256', tar({ name: 'x', change: field(337, '\x80\0\0\0\0\xe5\0\x01') })],
    ['a long name that names a target', tar({ ...long('a.html\0'), change: field(157, 'x') }, page)],
    ['bytes behind the NUL of a link name', tar({ name: 'x', change: field(200, 'hidden') })],
    ['bytes behind the NUL of a name', tar({ name: 'x', change: field(50, 'hidden') })],
    ['a GNU header with a prefix', tar({ name: 'x', gnu: true, change: field(345, 'prefix') })],
    ['a prefix with bytes behind its NUL that are no times', tar({ name: 'x', change: field(476, '\x80\0\0\0') })],
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
    ['an owner beyond 32 bits', tar(pax('x', ['gid', '4294967295']), page)],
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
    ['two headers for all entries in a row', tar(pax('g', ['comment', 'x']), pax('g', ['comment', 'x']), page)],
    ['a thousand of them', rawTar([...Array.from({ length: 1000 }, () => pax('g', ['comment', 'x'])), page])],
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
    [
      'a size from pax before a long name, for which node-tar takes it',
      tar(pax('x', ['size', `${Buffer.byteLength(page.content)}`]), long('a.html\0'), page),
    ],
    ['two long names', tar(long('a.html\0'), long('a.html\0'), page)],
    ['another name than in the header', tar(long('b.html\0'), page)],
    ['a name of which the header has only ./', tar(long('./a.html\0'), { ...page, name: './', gnu: true })],
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
];

/** Its name is the whole of another archive: of one folder, in the format of mtree. */
function uuencoded(block: RawBlock): RawBlock {
  const lines = `begin-base64 644 x\n${Buffer.from('#mtree\nevil type=dir\n').toString('base64')}\n====\n`;
  return { ...block, change: field(0, lines) };
}

function extraField(bytes: number): Buffer {
  const field = Buffer.alloc(2 + bytes);
  field.writeUInt16LE(bytes);
  return field;
}

/** A whole gzip header with every optional part, made unreadable in one way. */
export function gzipWith(flags: number, rest: Buffer): Buffer {
  const packed = gzipSync(rawTar([index]));
  const head = Buffer.from(packed.subarray(0, 10));
  head[3] = flags;
  return Buffer.concat([head, rest, packed.subarray(10)]);
}
