import type { ArchiveFacts } from '../exports/rules/archive-facts.ts';
import type { RolloutResult } from '../exports/rules/site-export.ts';
import { alreadyCurrent } from '../exports/rollout/roll-out-version.ts';
import type { ActivityDependencies, Site } from './dependencies.ts';

/** A published version whose content an export has found again (E6). */
export interface KeptVersion {
  version: string;
  url: string;
  /** Of the version, not of the download, which may be packed differently. */
  archive: ArchiveFacts;
  /** Targets that run what is in service, so that they need no rollout. */
  rollouts: RolloutResult[];
}

/**
 * What there is to say of a version with the content of the download. `serving` is the version that targets should run:
 * another one on a held site. Throws what the store throws.
 */
export async function describeKept(
  { bundles }: ActivityDependencies,
  { domain, targets }: Site,
  { version, serving }: { version: string; serving: string },
): Promise<KeptVersion> {
  const manifest = await bundles.manifest(domain, version);
  const rollouts: RolloutResult[] = [];
  for (const target of targets) {
    // A target that cannot be read gets the version again, in a separate step that reports the trouble.
    const running = await alreadyCurrent(bundles, domain, serving, target).catch(() => null);
    if (running !== null) rollouts.push(running);
  }
  return { version, url: bundles.urlOf(domain, manifest), archive: manifest.archive, rollouts };
}
