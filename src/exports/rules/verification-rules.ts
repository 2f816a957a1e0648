import { counted, sizeText } from '../../rules/text.ts';
import { moreReasons, type Reason } from './site-export.ts';

/**
 * What a rule of verification refuses, why, and where the danger is documented. The checks: exports/archive for an
 * archive's structure, exports/verify for the site in it.
 */
export interface RuleText {
  refuses: string;
  why: string;
  /** A published case, a standard, or a research result; empty when the reason needs none. */
  reference: string;
}

const rule = (refuses: string, why: string, reference = ''): RuleText => ({ refuses, why, reference });

/** Every rule about an archive's structure (verification.md). The compiler rejects rules that are not listed here. */
export const structureRuleTexts = {
  // What was sent.
  'empty-file': rule('a file of no bytes', 'Nothing was sent.'),
  'html-page': rule('an HTML page', 'A gateway sends an error page when something is down.'),
  'xml-document': rule('an XML document', 'An object store sends one when a link has expired.'),
  'json-document': rule('a JSON document', 'The service sends one when something went wrong.'),
  'unsupported-compression': rule('zstd, bzip2 and xz', 'Only gzip and deflate are read.'),
  'unknown-format': rule(
    'anything else that is not an archive by its first bytes',
    'File names and content types can be wrong.',
  ),
  'two-formats': rule(
    'a zip that is also a tar or an ISO image; a tar that begins like zstd, bzip2 or xz',
    'bsdtar reads it as the other format, GNU tar a zip as a tar, and they see other files or none.',
  ),

  // Completeness.
  truncated: rule('an archive that ends too early', 'A cut download must not become a version.'),
  'trailing-data': rule(
    'bytes after the end of the archive, and entries after the end marker of a tar',
    'Some readers continue there and see other files.',
    'CVE-2025-62518',
  ),
  corrupt: rule('data that cannot be unpacked, or does not match its checksum', 'It is not what was packed.'),
  'size-mismatch': rule(
    'content that is longer or shorter than the archive says',
    'A false size gets bombs past a limit, and makes readers continue at different places.',
    'bamsoftware.com/hacks/zipbomb',
  ),
  'crc-mismatch': rule('content of a zip whose CRC-32 differs from the stated one', 'It is not what was packed.'),
  'no-files': rule('an archive without a file', 'There is nothing to publish.'),

  // Limits.
  'too-many-bytes': rule('more unpacked bytes than `bundle.maxBytes`', 'Bombs fill the disk.', 'CVE-2026-39244'),
  'too-many-files': rule('more files and folders than `bundle.maxFiles`', 'Bombs fill the file system.'),
  ratio: rule(
    'more than 200 unpacked bytes for each byte of the archive',
    'Sites do not compress that well; bombs do.',
    'bamsoftware.com/hacks/zipbomb',
  ),
  'time-limit': rule('an archive that takes too long to read', 'No archive may block a worker forever.'),
  'memory-limit': rule('an archive whose lists need too much memory', 'No archive may crash the worker.'),

  // Names.
  'empty-name': rule('an entry without a name', 'It stands for no file.'),
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
    'Some readers cut names at NUL; terminals interpret the others; bsdtar unpacks uuencoded lines in the first name of a tar.',
    'CWE-158',
  ),
  'invisible-character': rule(
    'invisible characters: zero width, fillers, text direction, line separators',
    'A name must be what it looks like. Joiners and variation selectors, which some scripts need, are allowed.',
    'CVE-2021-42574',
  ),
  'not-utf8': rule(
    'names and comments of entries that are not well-formed UTF-8',
    'Each reader repairs them differently.',
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
  ),
  'dot-segment': rule('`.` within a path', 'The same file gets two names.'),
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
    '`CON`, `NUL`, `COM1`, `CONIN$` and the like',
    'On Windows they are devices, with any extension, and spaces before it.',
    'CVE-2023-45284, CWE-67',
  ),
  'path-too-long': rule('paths over 1,024 bytes', 'macOS cannot store them.'),
  'segment-too-long': rule('names over 255 bytes', 'No supported file system can store them.'),
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
  'file-as-folder': rule('a path that is a file and a folder', 'It cannot be unpacked.'),

  // Kinds of entries.
  'symbolic-link': rule('symbolic links', 'They lead out of the folder.', 'CVE-2026-23745, CVE-2021-37712'),
  'hard-link': rule('hard links', 'They reach files that are not in the archive.', 'CVE-2026-23745'),
  device: rule('devices, pipes and sockets', 'A site has no use for them.'),
  'closed-folder': rule(
    'folders that their owner may not read, write and enter',
    'BusyBox, unless it runs as root, cannot unpack what is in them.',
  ),
  'closed-file': rule(
    'files that their owner may not read',
    'A server that unpacks one, unless it runs as root, cannot serve it.',
  ),
  'special-mode': rule(
    'files and folders with the setuid, setgid or sticky bit',
    'Some readers set it: a file then runs with the rights of its owner.',
    'CWE-732',
  ),
  'entry-type': rule('any other type of entry', 'Readers treat unknown types as files or skip them.', 'POSIX pax'),
  sparse: rule('sparse files', 'Readers without support for them unpack other content.'),
  'ambiguous-type': rule(
    'entries that are a folder, a link, a device or a disk label by only one of name, header and mode or attributes',
    'They are a file to some readers, and something else or nothing to others.',
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
  'gnu-long-name': rule('ambiguous GNU long names', 'Only some readers follow them.'),
  'meta-too-long': rule(
    'headers about an entry over 256 KiB, comments of a zip over 8 KiB',
    'They are read into memory, and bsdtar does not find the end of a zip behind a long comment.',
  ),
  'dangling-header': rule(
    'a header about an entry that does not come next',
    'Readers drop it, or apply it to another entry.',
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
  'multi-disk': rule('archives that span several files', 'The rest is missing.'),
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
  encrypted: rule('encrypted entries', 'They cannot be checked.'),
  'compression-method': rule('other methods than stored and deflated', 'Few readers support them.'),
} as const satisfies Record<string, RuleText>;

export type StructureRule = keyof typeof structureRuleTexts;

/** What a broken rule about a site's content does to it; `ask`: it waits for a person's approval (E8). */
export const ruleLevels = ['refuse', 'ask', 'warn', 'off'] as const;
type RuleLevel = (typeof ruleLevels)[number];

/** What rules have found: why an archive is refused, why a person decides, and the rest. */
export interface Judgement {
  reasons: Reason[];
  asks: Reason[];
  warnings: Reason[];
}

/** Findings sorted by the levels of their rules. */
export function judged(findings: readonly (readonly [level: RuleLevel, found: readonly Reason[]])[]): Judgement {
  const at = (level: RuleLevel) => findings.flatMap(([own, found]) => (own === level ? found : []));
  return { reasons: at('refuse'), asks: at('ask'), warnings: at('warn') };
}

interface LevelledRuleText extends RuleText {
  /** Unless `bundle.rules` says otherwise. */
  level: RuleLevel;
}

const levelled =
  (level: RuleLevel) =>
  (refuses: string, why: string, reference?: string): LevelledRuleText => ({
    level,
    ...rule(refuses, why, reference),
  });
const [refuse, warn, off] = [levelled('refuse'), levelled('warn'), levelled('off')];

/** Every rule about the content of a site (verification.md), by its stable name. */
export const siteRuleTexts = {
  'no-page': refuse('an archive without any `.html` file', 'There is no site in it.'),
  'no-index-page': refuse(
    'no `index.html` at the root, even if everything is below one folder',
    'The site would have no page at `/`.',
  ),
  'no-404-page': off('no `404.html` at the root', 'For a missing page, readers get the bare message of the server.'),
  'broken-link': warn(
    'a link to a page that is not in the archive',
    'Readers reach nothing. `/guide`, `/guide.html` and `/guide/index.html` are the same page.',
  ),
  'missing-resource': warn(
    'a script, style, image, font or other part of a page that is not in the archive',
    'The page looks or works wrong.',
  ),
  'external-resource': warn(
    'a part of a page that is loaded from another host: attributes, `srcset`, CSS `url()` and `@import`, import maps, pings',
    'A bundle claims to need nothing at runtime; behind an air gap it breaks, elsewhere it tells others who reads.',
  ),
  'external-base': warn('`<base href>` to another host', 'Every relative link of the page leaves the copy.'),
  'external-refresh': warn('a `<meta>` refresh to another host', 'The page leaves the copy without a click.'),
  'origin-link': warn(
    "a link to the site's own domain with its host, where the domain is known: in an export, not in `export verify`",
    'Readers of a copy elsewhere end up at the original.',
  ),
  'service-worker': warn('the registration of a service worker', 'It may keep serving an old version after a rollout.'),
  'server-file': refuse(
    'files that web servers execute or read as settings: `.htaccess`, `.user.ini`, `web.config`, `*.php`, `*.cgi`, `*.shtml`, `*.asp`, `*.jsp` and similar',
    'A static site needs none, and what a server executes runs with its rights.',
    'CWE-434',
  ),
  'secret-file': warn(
    'files that no site needs and that hold secrets: `.git`, `.env`, private keys, credentials',
    'Everyone can read a published file.',
    'CWE-538',
  ),
  'secret-text': warn(
    'text that looks like a private key or an access token; the text itself is never shown',
    'Everyone can read a published file.',
    'CWE-798',
  ),
  'source-map': warn('source maps, as files or within a file', 'They hold the sources of scripts.', 'CWE-540'),
  'not-inspected': warn(
    'pages, styles and scripts over 32 MiB; the rest of a page whose elements stand over 500 deep',
    'Inspecting them would take too long.',
  ),
  'narrow-reader': warn(
    '64-bit forms and data descriptors of a zip at which `unzip` of BusyBox, `ZipInputStream` of Java or 7-Zip stops with an error',
    'The archive cannot be unpacked with that reader; with every other one it is the same.',
  ),
} as const satisfies Record<string, LevelledRuleText>;

export type SiteRule = keyof typeof siteRuleTexts;
export type SiteRuleLevels = { readonly [rule in SiteRule]?: RuleLevel | undefined };

/** Every rule about sampled pages in a browser, by its stable name. */
export const renderRuleTexts = {
  'page-does-not-render': warn(
    'a page that does not load within 15 s, crashes the browser, or shows a single colour',
    'Readers see nothing.',
  ),
  'page-script-error': warn('an error that no script of the page catches', 'Something on the page does not work.'),
  'page-request-failed': warn(
    'a request of the page, also by its scripts, to something that is not in the archive',
    'Something is missing that the files alone do not show.',
  ),
  'page-external-request': warn(
    'a request of the page, also by its scripts, to another host; it is never let through',
    'A bundle claims to need nothing at runtime.',
  ),
} as const satisfies Record<string, LevelledRuleText>;

export type RenderRule = keyof typeof renderRuleTexts;
export type RenderRuleLevels = { readonly [rule in RenderRule]?: RuleLevel | undefined };

export function isRenderRule(name: string): name is RenderRule {
  return name in renderRuleTexts;
}

/** From which measure on a rule about a change has which level. */
export interface ChangeLimit {
  level: RuleLevel;
  /** Broken above this share of what is in service, 0 for any; of `too-few-pages`: below this number. */
  limit: number;
}

interface ChangeRuleText extends RuleText {
  /** Unless `bundle.rules` says otherwise; the last one that is broken counts. */
  limits: readonly ChangeLimit[];
}

/** Every rule about a version beside the one in service, by its stable name. */
export const changeRuleTexts = {
  'pages-removed': {
    ...rule(
      'pages in service that the new version lacks, as a share of all pages in service',
      'Links and bookmarks of readers lead nowhere; half a site may be a failed export.',
    ),
    limits: [
      { level: 'warn', limit: 0 },
      { level: 'ask', limit: 0.5 },
    ],
  },
  'pages-changed': {
    ...rule('pages with other content, as a share of all pages in service', 'A broken template changes every page.'),
    limits: [{ level: 'warn', limit: 0.5 }],
  },
  'size-changed': {
    ...rule(
      'an unpacked size above or below that of the version in service, as a share of it',
      'Whole folders come or go by mistake.',
    ),
    limits: [{ level: 'warn', limit: 0.5 }],
  },
  'too-few-pages': {
    ...rule('fewer pages than `below`, by default 2', 'An export that stopped early looks like a small site.'),
    limits: [{ level: 'warn', limit: 2 }],
  },
} as const satisfies Record<string, ChangeRuleText>;

export type ChangeRule = keyof typeof changeRuleTexts;
export type ChangeRuleLimits = { readonly [rule in ChangeRule]?: ChangeLimit | undefined };

/** `above 10%` or `below 40`. */
export function limitText(rule: ChangeRule, limit: number): string {
  return rule === 'too-few-pages' ? `below ${limit}` : `above ${Number((limit * 100).toFixed(6))}%`;
}

/** What `judgeChange` compares: a version, and what became of the pages in service. */
export interface MeasuredChange {
  /** Of the version in service; null for none. */
  before: { version: string; pages: number; bytes: number } | null;
  after: { pages: number; bytes: number };
  removed: number;
  changed: number;
}

/** What a version breaks beside the one in service, each rule at its limit (E8). */
export function judgeChange(change: MeasuredChange, own: ChangeRuleLimits): Judgement {
  const { before, after, removed, changed } = change;
  const findings: [RuleLevel, Reason[]][] = [];
  const judge = (rule: ChangeRule, isBroken: (limit: number) => boolean, detail: string) => {
    const limits: readonly ChangeLimit[] = own[rule] ? [own[rule]] : changeRuleTexts[rule].limits;
    const broken = limits.filter(({ limit }) => isBroken(limit)).at(-1);
    if (broken) findings.push([broken.level, [{ rule, path: null, detail }]]);
  };
  if (before !== null) {
    const above = (part: number, whole: number) => (limit: number) => part > limit * whole;
    const of = (pages: number) => `${pages} of ${counted(before.pages, 'page')} (${shareText(pages, before.pages)})`;
    const grown = Math.abs(after.bytes - before.bytes);
    judge('pages-removed', above(removed, before.pages), `${of(removed)} of ${before.version} are gone`);
    judge('pages-changed', above(changed, before.pages), `${of(changed)} of ${before.version} differ`);
    judge(
      'size-changed',
      above(grown, before.bytes),
      `${sizeText(after.bytes)}, ${before.version} has ${sizeText(before.bytes)} (${shareText(grown, before.bytes)} ${after.bytes > before.bytes ? 'more' : 'less'})`,
    );
  }
  judge('too-few-pages', (limit) => after.pages < limit, `the version has ${counted(after.pages, 'page')}`);
  return judged(findings);
}

/** `12 %`; `under 1 %` for less, but more than nothing. */
function shareText(part: number, whole: number): string {
  const percent = (100 * part) / whole;
  return percent > 0 && percent < 1 ? 'under 1 %' : `${Math.round(percent)} %`;
}

/** Every rule of `export verify --signature`, by its stable name. */
export const signatureRuleTexts = {
  'signature-missing': rule('a manifest without its `.minisig` beside it', 'Its origin is unknown.'),
  'signature-malformed': rule('a signature that minisign does not write', 'It cannot be read.'),
  'signature-legacy': rule(
    'the older kind of signature, over the content itself',
    'minisign has not made it by default since 2021; one kind leaves no choice.',
  ),
  'signature-key': rule('a signature by another key than the one given', 'Another party signed it.'),
  'signature-invalid': rule(
    'a signature that does not match the manifest or its trusted comment',
    'One of them was changed after signing.',
  ),
  'manifest-missing': rule('an archive without its manifest beside it', 'The manifest is what is signed.'),
  'manifest-malformed': rule('a manifest that cannot be read', 'There is nothing to compare with.'),
  'manifest-unexpected': rule(
    'a manifest of another site or version than `--domain` and `--site-version` name',
    'The same key has signed other sites and older versions too.',
  ),
  'manifest-differs': rule(
    'an archive that is not the one the manifest names: SHA-256, size, format, content digest or files',
    'The signature says nothing about it.',
  ),
} as const satisfies Record<string, RuleText>;

export type SignatureRule = keyof typeof signatureRuleTexts;

/** Every rule of verification, by its name. */
export const ruleTexts = {
  ...structureRuleTexts,
  ...siteRuleTexts,
  ...renderRuleTexts,
  ...changeRuleTexts,
  ...signatureRuleTexts,
};

export type RuleName = keyof typeof ruleTexts;

/** What a rule refuses, why, and where the danger is documented; null for unknown names. */
export function explainRule(name: string): RuleText | null {
  return new Map<string, RuleText>(Object.entries(ruleTexts)).get(name) ?? null;
}

const mostListed = 20;
const printedPath = 200;

/** Collects reasons, the first 20 in full and a count of the rest. */
export class ReasonList {
  readonly #listed: Reason[] = [];
  count = 0;

  add(rule: RuleName, path: string | null, detail: string): void {
    this.count += 1;
    if (this.count > mostListed) return;
    this.#listed.push({ rule, path: path === null ? null : printablePath(path), detail });
  }

  /** The reasons in the order found; one `more-reasons` at the end stands for those not listed. */
  all(): Reason[] {
    const more = this.count - this.#listed.length;
    if (more === 0) return [...this.#listed];
    return [...this.#listed, moreReasons(more)];
  }
}

/** A path that is safe to print: control, format and unpaired code points escaped, at most 200 characters. */
export function printablePath(path: string): string {
  const cut = path.slice(0, printedPath + 1);
  const escaped = cut.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );
  return escaped.length > printedPath ? `${escaped.slice(0, printedPath - 1)}…` : escaped;
}
