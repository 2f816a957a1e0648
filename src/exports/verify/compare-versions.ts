import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { BundleStore, Manifest, Work } from '../store/bundle-store.ts';
import { type ChangeCounts, type ComparedVersion, compareManifests } from '../store/compare-manifests.ts';
import { isPage } from './site-pages.ts';
import { type DiffPart, lineDiff } from './line-diff.ts';
import { pageText } from './page-text.ts';
import { readFiles } from './read-files.ts';

const listed = ['added', 'removed', 'changed', 'moved'] as const;

/** A page with the same path in both versions, and what differs in its text; empty when only its markup does. */
export interface ChangedPage {
  path: string;
  parts: DiffPart[];
}

/** What a version changes against another, short enough to be read. */
export interface VersionChanges {
  /** Null for a first version. */
  from: ComparedVersion | null;
  to: ComparedVersion;
  counts: { files: ChangeCounts; pages: ChangeCounts };
  /** Paths of pages, the first of each kind; of those that moved the new one. */
  pages: Record<(typeof listed)[number], string[]>;
  /** Some of the changed pages: none that are long, or whose elements stand too deep within each other. */
  texts: ChangedPage[];
  /** Why no text was compared; null when it was. */
  without: string | null;
}

export type ComparedStore = Pick<BundleStore, 'manifest' | 'withArchive'>;

/** Paths of each kind. */
const mostListed = 100;
/** Pages whose text is compared, */
const mostTexts = 20;
/** and how long one may be, in bytes of HTML. */
export const longestPage = 256 * 1024;
/** Larger archives are not read, in bytes. */
const largestArchive = 32 * 1024 ** 2;
const limits = { around: 2, most: 80 };
const longestLine = 400;

/** What version `to` changes against `from`, which is null when nothing is in service yet. Throws `NoSuchVersion`, `VersionDamaged`. */
export async function compareVersions(
  store: ComparedStore,
  domain: string,
  { from, to }: { from: string | null; to: string },
  work: Work,
): Promise<VersionChanges> {
  const after = await store.manifest(domain, to);
  const before = from === null ? null : await store.manifest(domain, from);
  const diff = compareManifests(before ?? { ...after, files: [], pages: 0 }, after);
  const paths = {
    added: diff.added.map(({ path }) => path),
    removed: diff.removed.map(({ path }) => path),
    changed: diff.changed.map(({ path }) => path),
    moved: diff.moved.map((file) => file.to),
  };
  const pages = { added: [], removed: [], changed: [], moved: [] } as VersionChanges['pages'];
  for (const kind of listed) pages[kind] = paths[kind].filter(isPage).slice(0, mostListed);
  const short = diff.changed.filter(({ before: old, after: fresh }) => Math.max(old.bytes, fresh.bytes) <= longestPage);
  const compared = short.map(({ path }) => path).filter(isPage);
  const tooLarge = Math.max(before?.archive.bytes ?? 0, after.archive.bytes) > largestArchive;
  const without = tooLarge && compared.length > 0 ? 'the bundles are too large to be opened for it' : null;
  const texts =
    before === null || tooLarge
      ? []
      : await compareTexts(store, domain, [before, after], compared.slice(0, mostTexts), work);
  return { from: before && diff.from, to: diff.to, counts: diff.counts, pages, texts, without };
}

async function compareTexts(
  store: ComparedStore,
  domain: string,
  [before, after]: [Manifest, Manifest],
  paths: readonly string[],
  work: Work,
): Promise<ChangedPage[]> {
  const old = await readFiles(store, domain, before, paths, work);
  const fresh = await readFiles(store, domain, after, paths, work);
  const texts: ChangedPage[] = [];
  for (const path of paths) {
    await letOthersRun();
    work.signal?.throwIfAborted();
    const [was, is] = [linesOf(old.get(path)), linesOf(fresh.get(path))];
    if (was === null || is === null) continue;
    const parts = lineDiff(was, is, limits);
    texts.push({
      path,
      parts: parts.map((part) => ('text' in part ? { ...part, text: cut(part.text) } : part)),
    });
  }
  return texts;
}

function linesOf(html: Buffer | undefined): string[] | null {
  return pageText(html?.toString('utf8') ?? '');
}

function cut(line: string): string {
  const characters = [...line.slice(0, 2 * longestLine)];
  if (characters.length <= longestLine && line.length <= 2 * longestLine) return line;
  return `${characters.slice(0, longestLine).join('')}…`;
}
