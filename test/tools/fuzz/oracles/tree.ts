import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { EntryRules } from '../../../../src/exports/archive/check-entry.ts';
import { readers } from '../../../../src/exports/archive/open-archive.ts';
import type { ArchiveFormat } from '../../../../src/exports/rules/site-export.ts';
import { ReasonList } from '../../../../src/exports/rules/verification-rules.ts';
import type { VerificationReport } from '../../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../../archives/bytes-in-memory.ts';

/** What an archive unpacks to: for each path `folder`, the SHA-256 of a file, or what else stands there. */
export type Tree = Map<string, string>;

const ownerBits = 0o700;
const specialBits = 0o7000;

/** The tree that the verifier reports for an archive it accepted, and the readers that it says stop with an error. */
export async function reportedTree(
  archive: Buffer,
  format: ArchiveFormat,
  report: VerificationReport,
): Promise<{ tree: Tree; stopped: ReadonlySet<string> }> {
  const unlimited = Number.POSITIVE_INFINITY;
  const limits = { maxBytes: unlimited, maxFiles: unlimited, maxRatio: unlimited };
  const rules = new EntryRules(limits, archive.length, new ReasonList());
  const tree: Tree = new Map();
  const stopped = new Set<string>();
  await readers[format](bytesInMemory(archive), {
    streamBytes: unlimited,
    onStop: (reader) => stopped.add(reader),
    onEntry: (entry) => {
      const path = rules.admit(entry);
      if (path !== null && entry.kind === 'directory') addFolder(tree, path);
      return 'skip';
    },
  });
  for (const { path, sha256 } of report.entries) addFile(tree, path, sha256);
  return { tree, stopped };
}

/** Adds a file and the folders above it. */
export function addFile(tree: Tree, path: string, sha256: string): void {
  const end = path.lastIndexOf('/');
  if (end > 0) addFolder(tree, path.slice(0, end));
  tree.set(path, sha256);
}

export function addFolder(tree: Tree, path: string): void {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) tree.set(path.slice(0, end), 'folder');
}

export function sha256Of(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The tree that lies in a folder; links, special modes and anything but files and folders show as such. */
export function treeOnDisk(folder: string): Tree {
  const tree: Tree = new Map();
  const visit = (path: string) => {
    const place = path === '' ? folder : `${folder}/${path}`;
    const found = lstatSync(place);
    // Readers that do not run as root leave files that they cannot read themselves.
    const closed = (found.mode & ownerBits) === 0 && !found.isSymbolicLink();
    if (closed) chmodSync(place, found.mode | ownerBits);
    if (path !== '') tree.set(path, describe(place, found));
    if (path === '' && (found.mode & specialBits) !== 0) tree.set('.', 'special mode');
    if (!found.isDirectory()) return;
    for (const name of readdirSync(place)) visit(path === '' ? name : `${path}/${name}`);
  };
  visit('');
  return tree;
}

function describe(place: string, found: ReturnType<typeof lstatSync> & object): string {
  if ((Number(found.mode) & specialBits) !== 0) return `special mode ${Number(found.mode).toString(8)}`;
  if (found.isDirectory()) return 'folder';
  if (!found.isFile()) return found.isSymbolicLink() ? 'symbolic link' : 'device';
  return found.nlink === 1 ? sha256Of(readFileSync(place)) : 'hard link';
}

/** The first difference between two trees, in words; null when there is none. */
export function difference(expected: Tree, found: Tree): string | null {
  for (const [path, what] of expected) {
    if (found.get(path) !== what) return `${JSON.stringify(path)} is ${found.get(path) ?? 'missing'}, not ${what}`;
  }
  for (const [path, what] of found) if (!expected.has(path)) return `${JSON.stringify(path)} is there: ${what}`;
  return null;
}
