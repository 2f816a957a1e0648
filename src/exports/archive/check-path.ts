import type { StructureRule } from '../rules/structure-rules.ts';

/** Longest path in UTF-8 bytes: PATH_MAX of macOS, the smallest of the supported systems. */
const maxPathBytes = 1024;
/** Longest name of one file or folder in UTF-8 bytes on the supported systems. */
const maxSegmentBytes = 255;
/** Joiners, which some scripts need, are left to `foldPath`. */
const invisible = /[\p{Zl}\p{Zp}]|(?![\u200C\u200D])\p{Cf}/u;
/** Device names on Windows, with or without an extension. */
const reserved = /^(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(\.|$)/i;

export interface BrokenPath {
  rule: StructureRule;
  detail: string;
}

export type CheckedPath = { path: string } | BrokenPath;

/**
 * Checks the name of an entry (verification.md) and returns its path, without one leading `./` (written by `tar -c .`)
 * and, for folders, one trailing `/`. The archive's own root is the empty path.
 */
export function checkPath(name: string, isDirectory: boolean): CheckedPath {
  const broken = brokenLength(name) ?? brokenCharacters(name);
  if (broken) return broken;
  if (isDirectory && (name === '.' || name === './')) return { path: '' };
  const bare = name.startsWith('./') ? name.slice(2) : name;
  const path = isDirectory && bare.endsWith('/') ? bare.slice(0, -1) : bare;
  return escapeOf(name) ?? brokenSegments(path) ?? { path };
}

/** How a name leaves the folder it is unpacked to, on any system; null if it stays inside. */
export function escapeOf(name: string): BrokenPath | null {
  if (name.startsWith('/')) return { rule: 'absolute-path', detail: 'the path starts at the root of the file system' };
  if (name.includes('\\')) return { rule: 'backslash', detail: 'the name holds a backslash' };
  if (/^(\.\/)?[A-Za-z]:/.test(name)) return { rule: 'drive-letter', detail: 'the path starts with a drive letter' };
  if (name.split('/').includes('..')) return { rule: 'path-traversal', detail: 'the path climbs out with ".."' };
  return null;
}

function brokenLength(name: string): BrokenPath | null {
  if (name === '') return { rule: 'empty-name', detail: 'the entry has no name' };
  if (Buffer.byteLength(name) <= maxPathBytes) return null;
  return { rule: 'path-too-long', detail: `the path is longer than ${maxPathBytes} bytes` };
}

function brokenCharacters(name: string): BrokenPath | null {
  if (/[\p{Surrogate}\uFFFD]/u.test(name)) return { rule: 'not-utf8', detail: 'the name is not well-formed UTF-8' };
  if (name.normalize('NFC') !== name) {
    return { rule: 'unicode-form', detail: 'the name is not in the composed form of Unicode (NFC)' };
  }
  if (/\p{Cc}/u.test(name)) {
    return { rule: 'control-character', detail: 'the name holds a NUL or another control character' };
  }
  if (invisible.test(name)) {
    return { rule: 'invisible-character', detail: 'the name holds an invisible character' };
  }
  return null;
}

function brokenSegments(path: string): BrokenPath | null {
  if (path.includes(':')) return { rule: 'colon', detail: 'the name holds a colon' };
  for (const segment of path.split('/')) {
    const broken = brokenSegment(segment);
    if (broken) return broken;
  }
  return null;
}

function brokenSegment(segment: string): BrokenPath | null {
  if (segment === '') return { rule: 'empty-segment', detail: 'the path holds an empty segment' };
  if (segment === '.') return { rule: 'dot-segment', detail: 'the path holds a "." segment' };
  if (/[. ]$/.test(segment)) {
    return { rule: 'trailing-dot-or-space', detail: 'a name in the path ends in a dot or a space' };
  }
  if (/;\d*$/.test(segment)) {
    return { rule: 'version-suffix', detail: 'a name in the path ends in a semicolon and a version number' };
  }
  if (reserved.test(segment)) {
    return { rule: 'reserved-name', detail: 'a name in the path is that of a device on Windows' };
  }
  if (Buffer.byteLength(segment) <= maxSegmentBytes) return null;
  return { rule: 'segment-too-long', detail: `a name in the path is longer than ${maxSegmentBytes} bytes` };
}

/** Equal for paths that a file system may treat as one, ignoring case (also ẞ, ß and SS), Unicode form or joiners. */
export function foldPath(path: string): string {
  // Most names are ASCII, which needs no folding.
  if (/^\p{ASCII}*$/u.test(path)) return path.toLowerCase();
  const visible = path.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  // Upper case turns ß into SS but keeps ẞ; lower case first turns ẞ into ß.
  return visible.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}
