import type { ChangeCounts, ContentChanges } from '../model/content-changes.ts';
import type { Manifest } from './bundle-store.ts';
import { isPage } from './site/site-pages.ts';

type Files = Manifest['files'];
type Kind = keyof ChangeCounts;

/** Paths listed of each kind. */
const listedPaths = 20;
/** Of all lists together as JSON in UTF-8: results of activities stay below 4 KiB (DESIGN §4). */
const listedBytes = 3_000;

/** What one version changes with respect to another, or to nothing (null), by the files of their manifests. */
export function compareVersions(before: Pick<Manifest, 'version' | 'files'> | null, after: Files): ContentChanges {
  const pages: Record<Kind, string[]> = { added: [], removed: [], changed: [] };
  const others: ChangeCounts = { added: 0, removed: 0, changed: 0 };
  const note = (kind: Kind, path: string) => {
    if (isPage(path)) pages[kind].push(path);
    else others[kind] += 1;
  };
  const old = new Map(before?.files.map(({ path, sha256 }) => [path, sha256]));
  for (const { path, sha256 } of after) {
    const known = old.get(path);
    if (known === undefined) note('added', path);
    else if (known !== sha256) note('changed', path);
    old.delete(path);
  }
  for (const path of old.keys()) note('removed', path);
  return {
    against: before?.version ?? null,
    pages: { added: pages.added.length, removed: pages.removed.length, changed: pages.changed.length },
    others,
    listed: shortened(pages),
  };
}

/** The first paths of each kind; none at all when they take too much room. */
function shortened(pages: Record<Kind, string[]>): ContentChanges['listed'] {
  const first = (kind: Kind) => pages[kind].slice(0, listedPaths);
  const listed = { added: first('added'), removed: first('removed'), changed: first('changed') };
  const fits = Buffer.byteLength(JSON.stringify(listed)) <= listedBytes;
  return fits ? listed : { added: [], removed: [], changed: [] };
}
