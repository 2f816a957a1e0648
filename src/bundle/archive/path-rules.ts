import type { StructureRule } from '../rules/structure-rules.ts';

/** Longest path in UTF-8 bytes: PATH_MAX of macOS, the smallest of the supported systems. */
const maxPathBytes = 1024;
/** Longest name of one file or folder in UTF-8 bytes on the supported systems. */
const maxSegmentBytes = 255;
/** Joiners, which some scripts cannot do without, are left to `foldPath`. */
const invisible = /[\p{Zl}\p{Zp}]|(?![\u200C\u200D])\p{Cf}/u;
/** Names of devices on Windows, with anything behind a dot. */
const reserved = /^(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(\.|$)/i;

export interface BrokenPath {
  rule: StructureRule;
  detail: string;
}

export type CheckedPath = { path: string } | BrokenPath;

/**
 * Checks the name of an entry (verification.md) and gives the path it stands for: without one leading `./` (written by
 * `tar -c .`) and, for folders, without one trailing `/`. The archive's own root is the empty path.
 */
export function checkPath(name: string, isDirectory: boolean): CheckedPath {
  const broken = brokenCharacters(name);
  if (broken) return broken;
  if (name.startsWith('/')) return { rule: 'absolute-path', detail: 'the path starts at the root of the file system' };
  if (isDirectory && (name === '.' || name === './')) return { path: '' };
  const bare = name.startsWith('./') ? name.slice(2) : name;
  const path = isDirectory && bare.endsWith('/') ? bare.slice(0, -1) : bare;
  if (/^[A-Za-z]:/.test(path)) return { rule: 'drive-letter', detail: 'the path starts with a drive letter' };
  if (path.includes(':')) return { rule: 'colon', detail: 'the name holds a colon' };
  return brokenSegment(path) ?? { path };
}

function brokenCharacters(name: string): BrokenPath | null {
  if (name === '') return { rule: 'empty-name', detail: 'the entry has no name' };
  if (Buffer.byteLength(name) > maxPathBytes) {
    return { rule: 'path-too-long', detail: `the path is longer than ${maxPathBytes} bytes` };
  }
  if (/[\p{Surrogate}\uFFFD]/u.test(name)) return { rule: 'not-utf8', detail: 'the name is not well-formed UTF-8' };
  if (/\p{Cc}/u.test(name)) {
    return { rule: 'control-character', detail: 'the name holds a NUL or another control character' };
  }
  if (invisible.test(name)) {
    return { rule: 'invisible-character', detail: 'the name holds a character that has no shape' };
  }
  if (name.includes('\\')) return { rule: 'backslash', detail: 'the name holds a backslash' };
  return null;
}

function brokenSegment(path: string): BrokenPath | null {
  for (const segment of path.split('/')) {
    if (segment === '') return { rule: 'empty-segment', detail: 'the path holds an empty segment' };
    if (segment === '..') return { rule: 'path-traversal', detail: 'the path climbs out with ".."' };
    if (segment === '.') return { rule: 'dot-segment', detail: 'the path holds a "." segment' };
    if (/[. ]$/.test(segment)) {
      return { rule: 'trailing-dot-or-space', detail: 'a name in the path ends in a dot or a space' };
    }
    if (reserved.test(segment)) {
      return { rule: 'reserved-name', detail: 'a name in the path is that of a device on Windows' };
    }
    if (Buffer.byteLength(segment) > maxSegmentBytes) {
      return { rule: 'segment-too-long', detail: `a name in the path is longer than ${maxSegmentBytes} bytes` };
    }
  }
  return null;
}

/** Equal for two paths that may be one on a file system that ignores case, Unicode form (ß and SS too) or joiners. */
export function foldPath(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is what is common, and needs no folding
  if (/^[\x00-\x7f]*$/.test(path)) return path.toLowerCase();
  const visible = path.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return visible.toUpperCase().toLowerCase().normalize('NFKC');
}
