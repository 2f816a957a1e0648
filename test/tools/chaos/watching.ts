import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BundleStore,
  type Manifest,
  NoSuchVersion,
  VersionDamaged,
} from '../../../src/exports/store/bundle-store.ts';
import { hashFile } from '../../../src/files.ts';

/** What is read of a site, and until when. */
interface Watching {
  bundles: BundleStore;
  domain: string;
  /** Folder of its folder target; null when there is none. */
  site: string | null;
  isOver: () => boolean;
  /** Between two rounds, so that the publishers get the processor too. */
  pauseMs?: number;
}

/** What a reader has seen of a site; plain JSON. */
export interface Seen {
  /** Times the pointer was followed and its version hashed. */
  looks: number;
  /** Times the folder target was read, file by file. */
  visits: number;
  versions: number;
  problems: string[];
}

/**
 * Follows `current` repeatedly, as readers do, until `isOver`: the pointer never goes backwards, the version it names is
 * complete by its digests, and so is the release that the target's link points to.
 */
export async function watchSite({ bundles, domain, site, isOver, pauseMs = 20 }: Watching): Promise<Seen> {
  const seen: Seen = { looks: 0, visits: 0, versions: 0, problems: [] };
  let epoch = 0;
  let last: string | null = null;
  while (!isOver()) {
    const current = await bundles.current(domain);
    if (current === null) {
      if (epoch > 0) seen.problems.push('there is no current version any more');
    } else {
      if (current.epoch < epoch) seen.problems.push(`epoch ${current.epoch} after ${epoch}`);
      if (current.epoch === epoch && current.version !== last) seen.problems.push(`epoch ${epoch} means two versions`);
      if (current.version !== last) seen.versions += 1;
      epoch = current.epoch;
      last = current.version;
      await stillCurrent({ bundles, domain }, current.version, seen, () =>
        verifyVersion({ bundles, domain }, current.version),
      );
      seen.looks += 1;
    }
    if (site !== null && (await visit({ bundles, domain }, site, seen))) seen.visits += 1;
    await sleep(pauseMs);
  }
  return seen;
}

type Site = Pick<Watching, 'bundles' | 'domain'>;

/** An error is no problem when the version has been replaced and removed meanwhile. */
async function stillCurrent({ bundles, domain }: Site, version: string, seen: Seen, look: () => Promise<void>) {
  try {
    await look();
  } catch (error) {
    if ((await bundles.current(domain))?.version !== version) return;
    seen.problems.push(`${version}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function verifyVersion({ bundles, domain }: Site, version: string): Promise<void> {
  const { archive } = await bundles.manifest(domain, version);
  const sha256 = await bundles.withArchive(domain, version, hashFile);
  if (sha256 !== archive.sha256) throw new VersionDamaged(`the archive of ${version} is not what its manifest says`);
}

/** Every file of the release in service, by the manifest; false before the first release. */
async function visit({ bundles, domain }: Site, site: string, seen: Seen): Promise<boolean> {
  const link = join(site, 'current');
  const release = await readlink(link).catch(() => null);
  if (release === null) return false;
  const version = release.split('/')[1] ?? '';
  let manifest: Manifest;
  try {
    manifest = await bundles.manifest(domain, version);
  } catch (error) {
    if (!(error instanceof NoSuchVersion) || (await readlink(link)) === release) seen.problems.push(`no ${version}`);
    return true;
  }
  for (const { path, sha256 } of manifest.files) {
    const content = await readFile(join(site, release, path)).catch(() => null);
    const found = content === null ? 'missing' : createHash('sha256').update(content).digest('hex');
    if (found !== sha256 && (await readlink(link)) === release) seen.problems.push(`${release}/${path} is not whole`);
  }
  return true;
}
