import { basename } from 'node:path/posix';
import { type ContentFile, sortFiles } from '../archive/content-digest.ts';
import type { ChangeCounts, ContentChanges } from '../rules/site-export.ts';
import type { MeasuredChange } from '../rules/verification-rules.ts';
import { isPage } from '../verify/site-links.ts';
import type { Manifest } from './bundle-store.ts';

/** A file that both versions have under the same path, with different content. */
export interface ChangedFile {
  path: string;
  before: { bytes: number; sha256: string };
  after: { bytes: number; sha256: string };
}

/** The same content under another path. */
interface MovedFile {
  from: string;
  to: string;
  bytes: number;
  sha256: string;
}

export interface FileCounts extends ChangeCounts {
  unchanged: number;
}

/** One of the two versions as a whole. */
export interface ComparedVersion {
  version: string;
  contentDigest: string;
  files: number;
  pages: number;
  /** Unpacked. */
  bytes: number;
}

/** What differs between two versions; every list has pages first, then other files, by the bytes of their paths. */
export interface ManifestDiff {
  from: ComparedVersion;
  to: ComparedVersion;
  equal: boolean;
  added: ContentFile[];
  removed: ContentFile[];
  changed: ChangedFile[];
  moved: MovedFile[];
  /** Of all files, and of the pages among them. */
  counts: { files: FileCounts; pages: FileCounts };
}

/**
 * How the files of version `b` differ from those of version `a`, which is null for none, by their manifests alone
 * (contracts.md `export diff`). A removed file and a new one with the same content count as one that moved: of several,
 * those with the same name pair up first. Empty files are all alike, and so never count as moved.
 */
export function compareManifests(a: Manifest | null, b: Manifest): ManifestDiff {
  const { files } = a ?? { files: [] };
  const before = byPath(files);
  const after = byPath(b.files);
  const gone = pagesFirst(files.filter(({ path }) => !after.has(path)));
  const come = pagesFirst(b.files.filter(({ path }) => !before.has(path)));
  const moved = pairMoves(gone, come);
  const left = new Set(moved.map((move) => move.from));
  const taken = new Set(moved.map((move) => move.to));
  const added = come.filter(({ path }) => !taken.has(path));
  const removed = gone.filter(({ path }) => !left.has(path));
  const changed = pagesFirst(b.files).flatMap(({ path, bytes, sha256 }) => {
    const old = before.get(path);
    if (old === undefined || old.sha256 === sha256) return [];
    return [{ path, before: { bytes: old.bytes, sha256: old.sha256 }, after: { bytes, sha256 } }];
  });
  const pathsOf = { added, removed, changed, moved: moved.map(({ to }) => ({ path: to })) };
  const count = (only: (path: string) => boolean): FileCounts => {
    const some = mapKinds((kind) => pathsOf[kind].filter(({ path }) => only(path)).length);
    const now = b.files.filter(({ path }) => only(path)).length;
    return { ...some, unchanged: now - some.added - some.changed - some.moved };
  };
  return {
    from: whole(a ?? { ...b, files: [], pages: 0 }),
    to: whole(b),
    equal: added.length + removed.length + changed.length + moved.length === 0,
    added,
    removed,
    changed,
    moved,
    counts: { files: count(() => true), pages: count(isPage) },
  };
}

/** What the rules about a change look at (`judgeChange`); `before` is null for the first version. */
export function measuredChange(before: Manifest | null, after: Pick<Manifest, 'files' | 'pages'>): MeasuredChange {
  const bytesOf = (files: readonly ContentFile[]) => files.reduce((sum, { bytes }) => sum + bytes, 0);
  const now = byPath(after.files);
  const pages = (before?.files ?? []).filter(({ path }) => isPage(path));
  return {
    before: before && { version: before.version, pages: before.pages, bytes: bytesOf(before.files) },
    after: { pages: after.pages, bytes: bytesOf(after.files) },
    removed: pages.filter(({ path }) => !now.has(path)).length,
    changed: pages.filter(({ path, sha256 }) => (now.get(path)?.sha256 ?? sha256) !== sha256).length,
  };
}

/** Paths of the pages that differ, the first `most` of each kind; of a page that moved the new one. */
export function changedPages(
  { added, removed, changed, moved }: ManifestDiff,
  most: number,
): Record<keyof ChangeCounts, string[]> {
  const first = (files: readonly { path: string }[]) =>
    files.flatMap(({ path }) => (isPage(path) ? [path] : [])).slice(0, most);
  const movedTo = moved.map(({ to }) => ({ path: to }));
  return { added: first(added), removed: first(removed), changed: first(changed), moved: first(movedTo) };
}

const listedPaths = 20;
/** For all lists together, as JSON in UTF-8: results of activities stay below 4 KiB. */
const listedBytes = 3_000;

/** What `export diff` shows, short enough for a history; `before` is null when nothing is in service yet. */
export function summarizeChanges(before: Manifest | null, after: Manifest): ContentChanges {
  const diff = compareManifests(before, after);
  const { pages, files } = diff.counts;
  const listed = changedPages(diff, listedPaths);
  const fits = Buffer.byteLength(JSON.stringify(listed)) <= listedBytes;
  return {
    against: before?.version ?? null,
    pages: mapKinds((kind) => pages[kind]),
    others: mapKinds((kind) => files[kind] - pages[kind]),
    listed: fits ? listed : mapKinds(() => []),
  };
}

function mapKinds<Value>(of: (kind: keyof ChangeCounts) => Value): Record<keyof ChangeCounts, Value> {
  return { added: of('added'), removed: of('removed'), changed: of('changed'), moved: of('moved') };
}

/** Pairs files of the same name first, then the others, each in the order of the lists. */
function pairMoves(gone: readonly ContentFile[], come: readonly ContentFile[]): MovedFile[] {
  const oldOf = new Map<ContentFile, ContentFile>();
  const paired = new Set<ContentFile>();
  for (const key of [
    ({ sha256, path }: ContentFile) => `${sha256} ${basename(path)}`,
    ({ sha256 }: ContentFile) => sha256,
  ]) {
    const left = new Map<string, ContentFile[]>();
    for (const old of gone) {
      if (old.bytes === 0 || paired.has(old)) continue;
      const alike = left.get(key(old));
      if (alike) alike.push(old);
      else left.set(key(old), [old]);
    }
    for (const alike of left.values()) alike.reverse();
    for (const file of come) {
      const old = oldOf.has(file) ? undefined : left.get(key(file))?.pop();
      if (!old) continue;
      oldOf.set(file, old);
      paired.add(old);
    }
  }
  return come.flatMap((file) => {
    const old = oldOf.get(file);
    return old ? [{ from: old.path, to: file.path, bytes: file.bytes, sha256: file.sha256 }] : [];
  });
}

function byPath(files: readonly ContentFile[]): Map<string, ContentFile> {
  return new Map(files.map((file) => [file.path, file]));
}

function pagesFirst(files: readonly ContentFile[]): ContentFile[] {
  const sorted = sortFiles(files);
  return [...sorted.filter(({ path }) => isPage(path)), ...sorted.filter(({ path }) => !isPage(path))];
}

function whole({ version, contentDigest, pages, files }: Manifest): ComparedVersion {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { version, contentDigest, files: files.length, pages, bytes };
}
