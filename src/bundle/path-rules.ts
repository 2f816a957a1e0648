/** Longest path in UTF-8 bytes: PATH_MAX of macOS, the smallest of the supported systems. */
const MAX_PATH_BYTES = 1024;
/** Longest name of one file or folder in UTF-8 bytes on the supported systems. */
const MAX_SEGMENT_BYTES = 255;

export type CheckedPath = { path: string } | { rule: string; detail: string };

/**
 * Checks the name of an entry (DESIGN §6) and gives the path it stands for: without one leading `./` (written by
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
  return brokenSegment(path) ?? { path };
}

function brokenCharacters(name: string): CheckedPath | null {
  if (name === '') return { rule: 'empty-name', detail: 'the entry has no name' };
  if (Buffer.byteLength(name) > MAX_PATH_BYTES) {
    return { rule: 'path-too-long', detail: `the path is longer than ${MAX_PATH_BYTES} bytes` };
  }
  if (/[\p{Surrogate}\uFFFD]/u.test(name)) return { rule: 'not-utf8', detail: 'the name is not well-formed UTF-8' };
  if (/\p{Cc}/u.test(name)) {
    return { rule: 'control-character', detail: 'the name holds a NUL or another control character' };
  }
  if (name.includes('\\')) return { rule: 'backslash', detail: 'the name holds a backslash' };
  return null;
}

function brokenSegment(path: string): CheckedPath | null {
  for (const segment of path.split('/')) {
    if (segment === '') return { rule: 'empty-segment', detail: 'the path holds an empty segment' };
    if (segment === '..') return { rule: 'path-traversal', detail: 'the path climbs out with ".."' };
    if (segment === '.') return { rule: 'dot-segment', detail: 'the path holds a "." segment' };
    if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) {
      return { rule: 'segment-too-long', detail: `a name in the path is longer than ${MAX_SEGMENT_BYTES} bytes` };
    }
  }
  return null;
}

/** Equal for two paths that may be one on a file system that ignores case or Unicode form (ß and SS too). */
export function foldPath(path: string): string {
  return path.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}
