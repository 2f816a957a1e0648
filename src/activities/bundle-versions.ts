import { log } from '@temporalio/activity';
import { type ActivityDependencies, requireStore } from './dependencies.ts';
import { claimSite } from './heartbeats.ts';
import { bundleFailure } from './bundle-failures.ts';
import { type Promotion, promoteUnlessHeld } from './promotion.ts';
import { type StoredVersion, versionStep } from './version-step.ts';

export interface PublishInput extends StoredVersion {
  org: string;
  stageId: string;
  /** Of what `fetchBundle` verified and staged. */
  seal: string;
  /** What the pointer to the current version must still be; null when the version does not become current. */
  promote: Promotion | null;
  /** A person decides before it is promoted. */
  awaitsApproval: boolean;
}

/** Where a published version is, and the version at which a person holds the site. */
export interface PublishedAt {
  url: string;
  heldAt: string | null;
}

export const createBundleActivities = (deps: ActivityDependencies) => ({
  /**
   * Makes the staged archive a version and, if asked, the current one, unless the site is held (`heldAt`) or a person
   * decides first. Safe to repeat.
   */
  async publishVersion(input: PublishInput): Promise<PublishedAt> {
    return versionStep(deps, input, async (signal) => {
      await claimSite(deps, input);
      return publishStaged(deps, input, signal);
    });
  },

  /** Removes a download that will not be published. Safe to repeat. */
  async discardStaged(input: { storeId: string; stageId: string }): Promise<void> {
    requireStore('bundle', input.storeId, deps.bundles);
    try {
      await deps.bundles.discardStaged(input.stageId);
    } catch (error) {
      throw bundleFailure(error);
    }
  },
});

/** What `publishVersion` does. Throws what the store throws, and `PointerMoved`. */
export async function publishStaged(
  deps: ActivityDependencies,
  input: Omit<PublishInput, 'org' | 'storeId'>,
  signal: AbortSignal,
): Promise<PublishedAt> {
  const { bundles } = deps;
  const { domain, version, promote, awaitsApproval } = input;
  const manifest = await bundles.publish(input.stageId, version, input.seal, { signal });
  const promotion = () => (promote ? promoteUnlessHeld(bundles, domain, version, promote) : null);
  const hold = await (awaitsApproval ? bundles.holds.noteWaiting(domain, version) : promotion());
  // A version that may still be rejected pushes out no older one.
  if (!awaitsApproval || hold) await removeOldVersions(deps, domain);
  return { url: bundles.urlOf(domain, manifest), heldAt: hold?.version ?? null };
}

/** Removes versions beyond the number to keep. A failure is only logged: the next export tries again. */
export async function removeOldVersions(
  { bundles, keepVersions }: ActivityDependencies,
  domain: string,
): Promise<void> {
  try {
    const removed = await bundles.prune(domain, keepVersions);
    if (removed.length > 0) log.info('removed old versions', { domain, removed });
    await bundles.removeAbandoned(domain, new Date());
  } catch (error) {
    log.warn('old versions could not be removed', { domain, failure: error instanceof Error ? error.name : 'unknown' });
  }
}
