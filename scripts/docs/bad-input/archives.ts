import type { BadCase } from './bad-case.ts';

const cut = 'bundle/verify-archive > a sound %s > is refused, not thrown, wherever it is cut';

/** Structure of archives (Z) and what only a tar has (T). */
export const archives: readonly BadCase[] = [
  {
    id: 'Z1',
    title: 'Paths that lead out of the folder',
    inputs: [
      ['`../`', 'path-traversal'],
      ['`..\\`, UNC', 'backslash'],
      ['absolute', 'absolute-path'],
      ['drive `C:`', 'drive-letter'],
      ['`name:stream`', 'colon'],
    ],
  },
  {
    id: 'Z2',
    title: 'Entries that are no files',
    inputs: [
      ['symbolic links, by type or Unix mode', 'symbolic-link'],
      ['hard links', 'hard-link'],
      ['devices, pipes', 'device'],
      ['reparse points of Windows', 'symbolic-link'],
      ['ß and SS, by which a link could stand in for a folder', 'name-collision'],
    ],
  },
  {
    id: 'Z3',
    title: 'Names that are not what they look like',
    inputs: [
      ['NUL, control characters', 'control-character'],
      ['direction of writing, zero width', 'invisible-character'],
      ['backslash', 'backslash'],
      ['empty segment', 'empty-segment'],
      ['dot or space at the end', 'trailing-dot-or-space'],
      ['`CON`, `NUL`', 'reserved-name'],
      ['segment over 255 bytes', 'segment-too-long'],
      ['not UTF-8', 'not-utf8'],
      ['CP437 or UTF-8, another Unicode Path', 'ambiguous-name'],
    ],
  },
  {
    id: 'Z4',
    title: 'Names that are one file to some',
    inputs: [
      ['duplicates', 'duplicate-name'],
      ['by case, NFC, NFKC', 'name-collision'],
      ['a file that is also a folder', 'file-as-folder'],
    ],
  },
  {
    id: 'Z5',
    title: 'Bombs and lies about sizes',
    inputs: [
      ['ratio', 'ratio'],
      [
        'an archive in an archive: a file like any other, never unpacked',
        'bundle/archive-within > an archive within an archive (Z5) > is a file like any other: %s',
      ],
      ['overlapping entries, quoted', 'overlap'],
      ['lying unpacked size', 'size-mismatch', 'too-many-bytes'],
      ['data behind the end of the compressed data', 'hidden-data'],
      ['huge numbers of entries', 'too-many-files'],
      ['a lie about their number', 'zip-directory'],
      ['memory', 'bundle/verify-in-thread > verifyInThread, built > is ended when it needs too much memory'],
    ],
  },
  {
    id: 'Z6',
    title: 'Zips that readers understand in different ways',
    inputs: [
      ['local and central header disagree', 'headers-disagree'],
      ['entries that are there only locally, gaps, data before', 'hidden-data'],
      ['entries that are there only centrally', 'headers-disagree'],
      ['prefix that the offsets leave out', 'zip-directory'],
      ['suffix', 'trailing-data'],
      ['polyglot', 'unknown-format'],
      ['two ends, one of them within a comment', 'two-ends'],
      ['64-bit end or extra missing, disagreeing, too long, too short', 'zip64'],
      ['extra field twice', 'extra-field'],
      ['data descriptor that lies', 'data-descriptor'],
      ['several disks', 'multi-disk'],
      ['encryption', 'encrypted'],
      ['unknown methods', 'compression-method'],
    ],
  },
  { id: 'Z7', title: 'Checksums', inputs: [['CRC of zero with data', 'crc-mismatch']] },
  {
    id: 'Z8',
    title: 'Nothing, half of it, or something else',
    inputs: [
      ['truncated', 'truncated', cut],
      ['empty, 204', 'empty-file'],
      ['no entry', 'no-files'],
      ['an HTML page', 'html-page'],
      ['XML, JSON', 'xml-document', 'json-document'],
      [
        'a type of content that lies: looked at is the content',
        'bundle/verify-archive > something else > is refused as %s',
      ],
    ],
  },
  {
    id: 'T1',
    title: 'What only a tar has',
    inputs: [
      ['pax: name or size for all', 'pax-global'],
      ['pax: another size than the header (TARmageddon)', 'pax-disagrees'],
      ['pax: keys twice', 'pax-duplicate'],
      ['pax: NUL in a value', 'control-character'],
      ['pax: `hdrcharset`', 'pax-charset'],
      ['long names of GNU tar that leave a choice', 'gnu-long-name'],
      ['sparse files', 'sparse'],
      ['data on a folder, with headers in it', 'data-on-directory'],
      ['data on links and devices, with headers in it', 'symbolic-link', 'hard-link', 'device'],
      ['end blocks missing', 'truncated'],
      ['data behind the end', 'trailing-data'],
      ['several gzip members', 'gzip-members'],
      ['garbage behind the gzip data', 'trailing-data'],
    ],
  },
];
