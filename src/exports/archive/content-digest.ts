import { createHash } from 'node:crypto';

export interface ContentFile {
  path: string;
  bytes: number;
  sha256: string;
}

/** Half of a character above U+FFFF. Such characters sort before U+E000 by UTF-16 unit, and after it by UTF-8 byte. */
const surrogate = /[\ud800-\udfff]/;

/** The files, sorted by the UTF-8 bytes of their paths. */
export function sortFiles(files: readonly ContentFile[]): ContentFile[] {
  if (!files.some(({ path }) => surrogate.test(path))) {
    return [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  }
  const keyed = files.map((file) => ({ file, key: Buffer.from(file.path) }));
  keyed.sort((a, b) => Buffer.compare(a.key, b.key));
  return keyed.map(({ file }) => file);
}

/** SHA-256 in hex over the sorted files, for each: path, NUL, hex SHA-256 of the content, LF (contracts.md). */
export function contentDigest(files: readonly ContentFile[]): string {
  const hash = createHash('sha256');
  for (const { path, sha256 } of sortFiles(files)) hash.update(`${path}\0${sha256}\n`);
  return hash.digest('hex');
}
