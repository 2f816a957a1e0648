import type { ReasonList, StructureRule } from '../rules/verification-rules.ts';
import type { ArchiveEntry, EntryKind } from './archive-reader.ts';

/** Longest path in UTF-8 bytes: PATH_MAX of macOS, the smallest of the supported systems. */
const maxPathBytes = 1024;
/** Longest name of one file or folder in UTF-8 bytes on the supported systems. */
const maxSegmentBytes = 255;
/** Joiners and variation selectors, which some scripts need, are left to `foldPath`. */
const invisible =
  /[\p{Zl}\p{Zp}]|(?![\p{Join_Control}\p{Variation_Selector}])[\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
/** Device names on Windows, with or without spaces and an extension. */
const reserved = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]) *(\.|$)/i;

interface BrokenPath {
  rule: StructureRule;
  detail: string;
}

/** Rules for a text, in the order in which they count: what breaks them, and what is then said. */
type TextRules = readonly (readonly [StructureRule, (text: string) => boolean, string])[];

const nameRules: TextRules = [
  ['empty-name', (name) => name === '', 'the entry has no name'],
  ['path-too-long', (name) => Buffer.byteLength(name) > maxPathBytes, `the path is longer than ${maxPathBytes} bytes`],
  ['not-utf8', (name) => /[\p{Surrogate}\uFFFD]/u.test(name), 'the name is not well-formed UTF-8'],
  ['unicode-form', (name) => name.normalize('NFC') !== name, 'the name is not in the composed form of Unicode (NFC)'],
  ['control-character', (name) => /\p{Cc}/u.test(name), 'the name holds a NUL or another control character'],
  ['invisible-character', (name) => invisible.test(name), 'the name holds an invisible character'],
];

const escapeRules: TextRules = [
  ['absolute-path', (name) => name.startsWith('/'), 'the path starts at the root of the file system'],
  ['backslash', (name) => name.includes('\\'), 'the name holds a backslash'],
  ['drive-letter', (name) => /^(\.\/)?[A-Za-z]:/.test(name), 'the path starts with a drive letter'],
  ['path-traversal', (name) => name.split('/').includes('..'), 'the path climbs out with ".."'],
];

const segmentRules: TextRules = [
  ['colon', (segment) => segment.includes(':'), 'the name holds a colon'],
  ['empty-segment', (segment) => segment === '', 'the path holds an empty segment'],
  ['dot-segment', (segment) => segment === '.', 'the path holds a "." segment'],
  ['trailing-dot-or-space', (segment) => /[. ]$/.test(segment), 'a name in the path ends in a dot or a space'],
  ['version-suffix', (segment) => /;\d*$/.test(segment), 'a name in the path ends in a semicolon and a version number'],
  ['reserved-name', (segment) => reserved.test(segment), 'a name in the path is that of a device on Windows'],
  [
    'segment-too-long',
    (segment) => Buffer.byteLength(segment) > maxSegmentBytes,
    `a name in the path is longer than ${maxSegmentBytes} bytes`,
  ],
];

function brokenBy(rules: TextRules, text: string): BrokenPath | null {
  for (const [rule, breaks, detail] of rules) if (breaks(text)) return { rule, detail };
  return null;
}

/** The path of a checked name (verification.md), without one leading `./` and a folder's trailing `/`. */
export function checkPath(name: string, isDirectory: boolean): { path: string } | BrokenPath {
  const broken = brokenBy(nameRules, name);
  if (broken) return broken;
  if (isDirectory && (name === '.' || name === './')) return { path: '' };
  const bare = name.startsWith('./') ? name.slice(2) : name;
  const path = isDirectory && bare.endsWith('/') ? bare.slice(0, -1) : bare;
  const brokenSegment = path.split('/').map((segment) => brokenBy(segmentRules, segment));
  return escapeOf(name) ?? brokenSegment.find((found) => found !== null) ?? { path };
}

/** How a name leaves the folder it is unpacked to, on any system; null if it stays inside. */
export function escapeOf(name: string): BrokenPath | null {
  return brokenBy(escapeRules, name);
}

/** Equal for paths that a file system may treat as one, ignoring case (also ẞ, ß and SS), Unicode form or joiners. */
export function foldPath(path: string): string {
  // Most names are ASCII, which needs no folding.
  if (/^\p{ASCII}*$/u.test(path)) return path.toLowerCase();
  const visible = path.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  // Upper case turns ß into SS but keeps ẞ; lower case first turns ẞ into ß.
  return visible.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}

export interface ArchiveLimits {
  maxBytes: number;
  /** Most files and folders, including folders that are only implied by a path. */
  maxFiles: number;
  /** Most unpacked bytes for each byte of the archive; checked above 1 MiB unpacked. */
  maxRatio: number;
}

/** Used where no configuration says otherwise. */
export const defaultLimits: ArchiveLimits = { maxBytes: 5 * 1024 ** 3, maxFiles: 200_000, maxRatio: 200 };

const specialBits = 0o7000;
/** What a reader that does not run as root needs to fill a folder, and a server to read a file. */
const ownerBits = 0o700;
const ownerReads = 0o400;
const ratioFromBytes = 1024 ** 2;

const refusedKinds: Partial<Record<EntryKind, BrokenPath>> = {
  'symbolic-link': { rule: 'symbolic-link', detail: 'symbolic links are refused' },
  'hard-link': { rule: 'hard-link', detail: 'hard links are refused' },
  device: { rule: 'device', detail: 'devices, pipes and sockets are refused' },
  other: { rule: 'entry-type', detail: 'neither a file nor a folder' },
};

type Admitted = Pick<ArchiveEntry, 'name' | 'kind' | 'mode' | 'bytes'>;

function checkEntry({ name, kind, mode, bytes }: Admitted): { path: string } | BrokenPath {
  const checked = refusedKinds[kind] ?? checkPath(name, kind === 'directory');
  if ('rule' in checked) return checked;
  const bits = mode ?? ownerBits;
  if ((bits & specialBits) !== 0) {
    return { rule: 'special-mode', detail: 'the setuid, setgid or sticky bit is set' };
  }
  if (kind === 'directory' && bytes > 0) return { rule: 'data-on-directory', detail: 'a folder carries data' };
  if (kind === 'directory' && (bits & ownerBits) !== ownerBits) {
    return { rule: 'closed-folder', detail: 'the owner of the folder may not write to it' };
  }
  if ((bits & ownerReads) === 0) return { rule: 'closed-file', detail: 'the owner of the file may not read it' };
  return checked;
}

interface Occupant {
  path: string;
  kind: 'file' | 'folder';
  /** False for a folder only implied by the path of something in it. */
  listed: boolean;
}

/** Checks entries one by one against the rules on names, types and sizes (verification.md); violations go to `reasons`. */
export class EntryRules {
  readonly #limits: ArchiveLimits;
  readonly #archiveBytes: number;
  readonly #reasons: ReasonList;
  /** By folded path. */
  readonly #occupants = new Map<string, Occupant>();
  #entries = 0;
  #bytes = 0;
  /** True once a limit on size or number is exceeded: reading further is pointless. */
  exhausted = false;

  constructor(limits: ArchiveLimits, archiveBytes: number, reasons: ReasonList) {
    this.#limits = limits;
    this.#archiveBytes = archiveBytes;
    this.#reasons = reasons;
  }

  /** The path to use for the entry; null when it was refused or is the archive's own root. */
  admit(entry: Admitted): string | null {
    if (!this.count(entry)) return null;
    const checked = checkEntry(entry);
    if ('rule' in checked) {
      this.#reasons.add(checked.rule, entry.name, checked.detail);
      return null;
    }
    if (checked.path === '') return null;
    const occupied = this.#occupyParents(checked.path) && this.#occupy(checked.path, entry.kind);
    return occupied ? checked.path : null;
  }

  /** Checks only the limits, for an entry that another part admits; false when one is exceeded. */
  count(entry: Pick<ArchiveEntry, 'bytes'>): boolean {
    this.#entries += 1;
    this.#bytes += entry.bytes;
    return !this.#breaksLimit();
  }

  #breaksLimit(): boolean {
    const { maxBytes, maxFiles, maxRatio } = this.#limits;
    if (Math.max(this.#entries, this.#occupants.size) > maxFiles) {
      this.#exhaust('too-many-files', `more than ${maxFiles} files and folders`);
    } else if (this.#bytes > maxBytes) {
      this.#exhaust('too-many-bytes', `more than ${maxBytes} bytes unpacked`);
    } else if (this.#bytes > ratioFromBytes && this.#bytes > maxRatio * this.#archiveBytes) {
      this.#exhaust('ratio', `unpacks to more than ${maxRatio} times the ${this.#archiveBytes} bytes of the archive`);
    }
    return this.exhausted;
  }

  #exhaust(rule: StructureRule, detail: string): void {
    this.exhausted = true;
    this.#reasons.add(rule, null, detail);
  }

  /** Records every folder above `path`; stops at the first known one, whose parents are known too. */
  #occupyParents(path: string): boolean {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      const key = foldPath(parent);
      const occupant = this.#occupants.get(key);
      if (!occupant) {
        this.#occupants.set(key, { path: parent, kind: 'folder', listed: false });
        continue;
      }
      if (occupant.path !== parent) return this.#collide(path, occupant.path);
      if (occupant.kind === 'file') return this.#fileAsFolder(occupant.path);
      return true;
    }
    return true;
  }

  #occupy(path: string, kind: EntryKind): boolean {
    const key = foldPath(path);
    const occupant = this.#occupants.get(key);
    if (!occupant) {
      this.#occupants.set(key, { path, kind: kind === 'directory' ? 'folder' : 'file', listed: true });
      return true;
    }
    if (occupant.path !== path) return this.#collide(path, occupant.path);
    if ((occupant.kind === 'folder') !== (kind === 'directory')) return this.#fileAsFolder(path);
    if (occupant.listed) {
      this.#reasons.add('duplicate-name', path, 'the name is in the archive twice');
      return false;
    }
    occupant.listed = true;
    return true;
  }

  #collide(path: string, with_: string): false {
    const other = JSON.stringify(with_.slice(0, 200));
    this.#reasons.add('name-collision', path, `differs from ${other} only by case or Unicode form`);
    return false;
  }

  #fileAsFolder(path: string): false {
    this.#reasons.add('file-as-folder', path, 'the same path is a file and a folder');
    return false;
  }
}
