/** What a rule of verification refuses, why, and where the danger is documented. */
export interface RuleText {
  refuses: string;
  why: string;
  /** A published case, a standard, or a research result; empty when the reason needs none. */
  reference: string;
}

/**
 * Every rule about the structure of an archive (verification.md), by its stable name. The compiler rejects rules that are
 * not listed here.
 */
export const structureRuleTexts = {
  // What was sent.
  'empty-file': rule('a file of no bytes', 'Nothing was sent.', ''),
  'html-page': rule('an HTML page', 'A gateway sends an error page when something is down.', ''),
  'xml-document': rule('an XML document', 'An object store sends one when a link has expired.', ''),
  'json-document': rule('a JSON document', 'The service sends one when something went wrong.', ''),
  'unsupported-compression': rule('zstd, bzip2 and xz', 'Only gzip and deflate are read.', ''),
  'unknown-format': rule(
    'anything else that is not an archive by its first bytes',
    'File names and content types can be wrong.',
    '',
  ),

  // Completeness.
  truncated: rule('an archive that ends too early', 'A cut download must not become a version.', ''),
  'trailing-data': rule(
    'bytes after the end of the archive, and entries after the end marker of a tar',
    'Some readers continue there and see other files.',
    'CVE-2025-62518',
  ),
  corrupt: rule('data that cannot be unpacked, or does not match its checksum', 'It is not what was packed.', ''),
  'size-mismatch': rule(
    'content that is longer or shorter than the archive says',
    'A false size gets bombs past a limit, and makes readers continue at different places.',
    'bamsoftware.com/hacks/zipbomb',
  ),
  'crc-mismatch': rule('content of a zip whose CRC-32 differs from the stated one', 'It is not what was packed.', ''),
  'no-files': rule('an archive without a file', 'There is nothing to publish.', ''),

  // Limits.
  'too-many-bytes': rule('more unpacked bytes than `bundle.maxBytes`', 'Bombs fill the disk.', 'CVE-2026-39244'),
  'too-many-files': rule('more files and folders than `bundle.maxFiles`', 'Bombs fill the file system.', ''),
  ratio: rule(
    'more than 200 unpacked bytes for each byte of the archive',
    'Sites do not compress that well; bombs do.',
    'bamsoftware.com/hacks/zipbomb',
  ),
  'time-limit': rule('an archive that takes too long to read', 'No archive may block a worker forever.', ''),
  'memory-limit': rule('an archive whose lists need too much memory', 'No archive may crash the worker.', ''),

  // Names.
  'empty-name': rule('an entry without a name', 'It stands for no file.', ''),
  'absolute-path': rule('absolute paths', 'They write outside the folder.', 'CVE-2018-1002203'),
  'path-traversal': rule('`..` in a path', 'It climbs out of the folder.', 'CVE-2018-1002204'),
  backslash: rule(
    'backslashes, and thus Windows and UNC paths',
    'Some readers treat them as separators.',
    'CVE-2018-1002204',
  ),
  'drive-letter': rule('paths like `C:x`', 'On Windows they name another drive.', 'CVE-2021-37713'),
  colon: rule('a colon in a name', 'On Windows it names a hidden stream of a file.', 'CWE-69'),
  'control-character': rule(
    'NUL and control characters',
    'Some readers cut names at NUL; terminals interpret the others.',
    'CWE-158',
  ),
  'invisible-character': rule(
    'invisible characters: zero width, text direction, line separators',
    'A name must be what it looks like. Joiners, which some scripts need, are allowed.',
    'CVE-2021-42574',
  ),
  'not-utf8': rule(
    'names and comments of entries that are not well-formed UTF-8',
    'Each reader repairs them differently.',
    '',
  ),
  'unicode-form': rule(
    'names in another Unicode form than NFC',
    'bsdtar turns them into NFC: links to the name lead nowhere.',
    'UAX #15',
  ),
  'ambiguous-name': rule(
    'names of a zip in an unknown character set, or a second one in an extra field; names beyond ASCII of zips made on DOS or Windows without any extra field',
    'Readers choose differently. Info-ZIP turns the last kind into other names, even if they are marked as UTF-8.',
    'ZipDiff, USENIX Security 2025',
  ),
  'empty-segment': rule(
    '`//` in a path, or a file whose name ends in `/`',
    'Readers drop the empty segment or make a folder.',
    '',
  ),
  'dot-segment': rule('`.` within a path', 'The same file gets two names.', ''),
  'trailing-dot-or-space': rule(
    'names that end in a dot or a space',
    'Windows drops them: two names, one file.',
    'CWE-46',
  ),
  'version-suffix': rule(
    'names that end in `;` and digits',
    'Info-ZIP takes that for a version number of VMS and drops it: two names, one file.',
    'VMS file versions',
  ),
  'reserved-name': rule(
    '`CON`, `NUL`, `COM1` and the like',
    'On Windows they are devices, with any extension.',
    'CWE-67',
  ),
  'path-too-long': rule('paths over 1,024 bytes', 'macOS cannot store them.', ''),
  'segment-too-long': rule('names over 255 bytes', 'No supported file system can store them.', ''),
  'duplicate-name': rule(
    'the same name twice',
    'Some readers keep the first, others the last.',
    'ZipDiff, USENIX Security 2025',
  ),
  'name-collision': rule(
    'names that differ only by case, Unicode form or invisible joiners',
    'They are one file on some file systems.',
    'CVE-2026-23950, CVE-2021-37712',
  ),
  'file-as-folder': rule('a path that is a file and a folder', 'It cannot be unpacked.', ''),

  // Kinds of entries.
  'symbolic-link': rule('symbolic links', 'They lead out of the folder.', 'CVE-2026-23745, CVE-2021-37712'),
  'hard-link': rule('hard links', 'They reach files that are not in the archive.', 'CVE-2026-23745'),
  device: rule('devices, pipes and sockets', 'A site has no use for them.', ''),
  'closed-folder': rule(
    'folders that their owner may not read, write and enter',
    'BusyBox, unless it runs as root, cannot unpack what is in them.',
    '',
  ),
  'closed-file': rule(
    'files that their owner may not read',
    'A server that unpacks one, unless it runs as root, cannot serve it.',
    '',
  ),
  'special-mode': rule(
    'files and folders with the setuid, setgid or sticky bit',
    'Some readers set it: a file then runs with the rights of its owner.',
    'CWE-732',
  ),
  'entry-type': rule('any other type of entry', 'Readers treat unknown types as files or skip them.', 'POSIX pax'),
  sparse: rule('sparse files', 'Readers without support for them unpack other content.', ''),
  'ambiguous-type': rule(
    'entries that are a folder, a link, a device or a disk label by only one of name, header and mode or attributes',
    'They are a file to some readers, and something else or nothing to others.',
    '',
  ),
  'data-on-directory': rule('a folder with content', 'Some readers parse it as further entries.', 'CVE-2025-62518'),

  // gzip and tar.
  'gzip-header': rule(
    'an unknown method, unknown flags, or a name, comment or extra field over 511 bytes',
    'RFC 1952 requires refusing the first two; Go, 7-Zip and BusyBox fail on the last.',
    'RFC 1952',
  ),
  'gzip-members': rule('several gzip members in one file', 'Some readers stop after the first.', 'RFC 1952'),
  'tar-dialect': rule('headers that are neither ustar nor GNU', 'Their fields have other meanings.', 'POSIX ustar'),
  'header-field': rule(
    'fields of a tar header that can be read in two ways',
    'Readers differ on numbers with other characters, modes beyond 16 bits, bytes after a NUL, and a GNU header with a prefix.',
    'CVE-2025-62518',
  ),
  'pax-record': rule(
    'pax records of a wrong form, values that are no time or number where one belongs, newlines in values',
    'Readers recover from it in different ways: npm begins a new record at each newline.',
    'POSIX pax',
  ),
  'pax-keyword': rule(
    'pax keys for anything but names, sizes, times, owners and comments: attributes, flags, access lists, links',
    'Some readers set them, with rights that a mode does not show; others ignore them.',
    'POSIX pax',
  ),
  'pax-duplicate': rule(
    'a key twice, two pax headers for one entry, or two for all entries in a row',
    'Some readers use the first, others the last; bsdtar and Python stop at many.',
    'POSIX pax',
  ),
  'pax-global': rule('names or sizes for all entries at once', 'Many readers ignore them.', 'POSIX pax'),
  'pax-charset': rule('pax names in another character set', 'Most readers treat them as UTF-8.', 'POSIX pax'),
  'pax-disagrees': rule(
    'a size in a pax header that is not that of the tar header',
    'A reader that uses the other size parses content as headers.',
    'CVE-2025-62518',
  ),
  'gnu-long-name': rule('ambiguous GNU long names', 'Only some readers follow them.', ''),
  'meta-too-long': rule(
    'headers about an entry over 256 KiB, comments of a zip over 8 KiB',
    'They are read into memory, and bsdtar does not find the end of a zip behind a long comment.',
    '',
  ),
  'dangling-header': rule(
    'a header about an entry that does not come next',
    'Readers drop it, or apply it to another entry.',
    '',
  ),
  'hidden-data': rule(
    'bytes that belong to no entry: before, between and after entries, in padding, after compressed data',
    'Other readers find files there.',
    'CVE-2024-24789, ZipDiff',
  ),

  // zip.
  'zip-directory': rule(
    'a central directory that does not match the end record',
    'Readers look for it in different places.',
    'CVE-2024-24789',
  ),
  'two-ends': rule('two end records that both fit', 'Some readers use the first, others the last.', 'CVE-2024-24789'),
  zip64: rule(
    '64-bit records that are missing, too long or disagree',
    'Readers use one or the other.',
    'CVE-2025-54368',
  ),
  'multi-disk': rule('archives that span several files', 'The rest is missing.', ''),
  'headers-disagree': rule(
    'an entry whose local header differs from the central directory',
    'Streaming readers see other files than the rest.',
    'CVE-2025-54368, ZipDiff',
  ),
  overlap: rule(
    'entries that overlap, or are not listed in file order',
    'Overlaps let ten megabytes unpack to 281 terabytes.',
    'CVE-2024-0450, CVE-2019-13232, bamsoftware.com/hacks/zipbomb',
  ),
  'data-descriptor': rule(
    'a data descriptor that does not repeat the directory, cannot be found by its mark behind content that is not compressed, or ends the archive for some readers',
    'Streaming readers believe it, and search for its mark.',
    'CVE-2025-54368',
  ),
  'extra-field': rule(
    'extra fields that are cut, too long or doubled, or of another kind than 64-bit sizes, times, owners and the marker of a jar',
    'Readers recover from it differently, and some kinds change what an entry is: ASi makes a file a symbolic link.',
    'CVE-2025-54368',
  ),
  'zip-version': rule(
    'entries that need a version above 4.5 of the format',
    'Info-ZIP leaves them out.',
    'APPNOTE 4.4.3',
  ),
  'zip-system': rule(
    'entries made on systems other than DOS, Windows, Unix and macOS',
    'Each reader translates their names and attributes to Unix differently.',
    'APPNOTE 4.4.2',
  ),
  'zip-flags': rule('flags of unknown meaning', 'They may change how the content is read.', 'APPNOTE 4.4.4'),
  encrypted: rule('encrypted entries', 'They cannot be checked.', ''),
  'compression-method': rule('other methods than stored and deflated', 'Few readers support them.', ''),
} as const satisfies Record<string, RuleText>;

export type StructureRule = keyof typeof structureRuleTexts;

function rule(refuses: string, why: string, reference: string): RuleText {
  return { refuses, why, reference };
}
