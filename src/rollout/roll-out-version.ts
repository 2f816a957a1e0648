import type { BundleStore } from '../bundle/bundle-store.ts';
import type { RolloutResult } from '../model/cargo.ts';
import type { RolloutTarget } from './rollout-target.ts';

export interface VersionRollout {
  bundles: BundleStore;
  domain: string;
  version: string;
  target: RolloutTarget;
  /** Also where the version runs already. */
  force?: boolean;
  signal?: AbortSignal;
  /** Called as work goes on, for heartbeats. */
  onProgress?: () => void;
}

/**
 * Puts a version of the store into service at one target and records the success, unless the target already runs it
 * (DESIGN E6). Throws what the store and the target throw.
 */
export async function rollOutVersion({
  bundles,
  domain,
  version,
  target,
  ...how
}: VersionRollout): Promise<RolloutResult> {
  const recorded = await bundles.rolledOut(domain, target.name);
  if (!how.force && recorded === version && (await target.runningVersion()) === version) {
    return { target: target.name, outcome: 'already-current', detail: `runs ${version}` };
  }
  const detail = await target.rollOut({
    domain,
    manifest: await bundles.manifest(domain, version),
    archivePath: await bundles.archivePath(domain, version),
    url: await bundles.urlOf(domain, version),
    ...(how.signal && { signal: how.signal }),
    ...(how.onProgress && { onProgress: how.onProgress }),
  });
  await bundles.recordRollout(domain, target.name, version);
  return { target: target.name, outcome: 'rolled-out', detail };
}
