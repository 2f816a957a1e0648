import type { SiteConfig } from '../../config/config.ts';
import type { RolloutResult } from '../rules/site-export.ts';
import type { BundleStore } from '../store/bundle-store.ts';
import { provenManifest } from '../store/manifests.ts';
import { DirectoryTarget } from './directory-target.ts';
import { HelmValuesTarget } from './helm-values-target.ts';
import { RolloutSuperseded, type RolloutTarget } from './rollout-target.ts';

interface VersionRollout {
  bundles: BundleStore;
  domain: string;
  version: string;
  target: RolloutTarget;
  /** Rolls out even where the version runs already. */
  force?: boolean;
  /** Only while the domain points at the version: set for exports, not for a person who names a version. */
  whileCurrent?: boolean;
  signal?: AbortSignal;
  /** Called as work proceeds, for heartbeats. */
  onProgress?: () => void;
}

/** The result for a target that was given the version before and, read back, runs it (E9); null for any other. */
export async function alreadyCurrent(
  bundles: Pick<BundleStore, 'rolledOut'>,
  domain: string,
  version: string,
  target: RolloutTarget,
): Promise<RolloutResult | null> {
  const recorded = await bundles.rolledOut(domain, target.name);
  if (recorded !== version || (await target.runningVersion()) !== version) return null;
  return { target: target.name, outcome: 'already-current', detail: `runs ${version}` };
}

/**
 * Puts a version of the store into service at one target and records the success, unless the target already runs it
 * (E6). Its manifest is proved first (E10). Throws what the store and the target throw, and `RolloutSuperseded`.
 */
export async function rollOutVersion({
  bundles,
  domain,
  version,
  target,
  ...how
}: VersionRollout): Promise<RolloutResult> {
  const running = how.force ? null : await alreadyCurrent(bundles, domain, version, target);
  if (running !== null) return running;
  const manifest = await provenManifest(bundles, domain, version);
  // From now on retention keeps the version.
  await bundles.startRollout(domain, target.name, version);
  const work = { signal: how.signal, onProgress: how.onProgress };
  const isWanted = async () => (await bundles.current(domain))?.version === version;
  if (how.whileCurrent && !(await isWanted())) throw new RolloutSuperseded(version);
  const detail = await target.rollOut({
    domain,
    manifest,
    withArchive: (read) => bundles.withArchive(domain, version, read, work),
    ...(how.whileCurrent && { isWanted }),
    url: bundles.urlOf(domain, manifest),
    ...(how.signal && { signal: how.signal }),
    ...(how.onProgress && { onProgress: how.onProgress }),
  });
  await bundles.recordRollout(domain, target.name, version);
  return { target: target.name, outcome: 'rolled-out', detail };
}

/** The site's rollout targets; `publicUrl` is the address under which its bundles are published. */
export function rolloutTargets(site: SiteConfig, publicUrl: string): RolloutTarget[] {
  return site.rollout.map((target) =>
    target.kind === 'directory' ? new DirectoryTarget(target) : new HelmValuesTarget({ ...target, publicUrl }),
  );
}
