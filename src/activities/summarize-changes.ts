import type { ChangeCounts, ContentChanges } from '../exports/rules/content-changes.ts';
import { isPage } from '../exports/verify/site-pages.ts';
import type { Manifest } from '../exports/store/bundle-store.ts';
import { compareManifests, type ChangeCounts as DiffCounts } from '../exports/store/compare-manifests.ts';

/** Paths listed for each kind of change. */
const listedPaths = 20;
/** For all lists together, as JSON in UTF-8: results of activities stay below 4 KiB (architecture.md). */
const listedBytes = 3_000;

/** What `export diff` shows, short enough for a history; `before` is null when nothing is in service yet. */
export function summarizeChanges(before: Manifest | null, after: Manifest): ContentChanges {
  const diff = compareManifests(before ?? { ...after, files: [], pages: 0 }, after);
  const { pages, files } = diff.counts;
  const pathsOf = (paths: string[]) => paths.filter(isPage).slice(0, listedPaths);
  const listed = {
    added: pathsOf(diff.added.map(({ path }) => path)),
    removed: pathsOf(diff.removed.map(({ path }) => path)),
    changed: pathsOf(diff.changed.map(({ path }) => path)),
    moved: pathsOf(diff.moved.map(({ to }) => to)),
  };
  const fits = Buffer.byteLength(JSON.stringify(listed)) <= listedBytes;
  return {
    against: before?.version ?? null,
    pages: countsOf(pages),
    others: countsOf({
      added: files.added - pages.added,
      removed: files.removed - pages.removed,
      changed: files.changed - pages.changed,
      moved: files.moved - pages.moved,
    }),
    listed: fits ? listed : { added: [], removed: [], changed: [], moved: [] },
  };
}

function countsOf({ added, removed, changed, moved }: Omit<DiffCounts, 'unchanged'>): ChangeCounts {
  return { added, removed, changed, moved };
}
