import type { Manifest } from './bundle-store.ts';
import { VersionConflict } from './store-errors.ts';

/** The manifest published under a version's name, if it has the wanted content. Throws `VersionConflict`. */
export function requireSameContent(published: Manifest | null, wanted: Manifest): Manifest {
  if (!published)
    throw new VersionConflict(
      `version ${wanted.version} is in the store, but incomplete: remove it there, then export again`,
    );
  const same = published.contentDigest === wanted.contentDigest && published.archive.sha256 === wanted.archive.sha256;
  if (!same) throw new VersionConflict(`version ${wanted.version} is already published with other content`);
  return published;
}
