import { type Manifest, NoSuchVersion } from '../bundle/store/bundle-store.ts';
import { summarizeChanges } from '../bundle/store/summarize-changes.ts';
import type { ContentChanges } from '../model/export/content-changes.ts';
import { publishFailure, tidy } from './bundle-versions.ts';
import { type ActivityDependencies, requireStore } from './dependencies.ts';
import { withHeartbeats } from './heartbeats.ts';
import { type Promotion, promoteUnlessHeld } from './promotion.ts';

interface VersionInput {
  domain: string;
  storeId: string;
  version: string;
}

/** What a version that awaits a person's approval needs: its changes, and what follows from the decision. */
export const createApprovalActivities = (deps: ActivityDependencies) => ({
  /** What the version changes with respect to the one in service; counts, and a few paths (architecture.md). */
  async describeChanges(input: VersionInput & { against: string | null }): Promise<ContentChanges> {
    requireStore('bundle', input.storeId, deps.bundles.identity);
    const { domain, version, against } = input;
    try {
      const compare = async () => {
        const before = against === null ? null : await manifestIfThere(deps, domain, against);
        return summarizeChanges(before, await deps.bundles.manifest(domain, version));
      };
      return await withHeartbeats(() => ({ version }), compare);
    } catch (error) {
      throw publishFailure(error, domain);
    }
  },

  /** Makes an approved version current, unless the site has been held meanwhile. Safe to repeat. */
  async promoteVersion(input: VersionInput & { promote: Promotion }): Promise<{ heldAt: string | null }> {
    requireStore('bundle', input.storeId, deps.bundles.identity);
    const { domain, version, promote } = input;
    try {
      return await withHeartbeats(
        () => ({ version }),
        async () => {
          const hold = await promoteUnlessHeld(deps.bundles, domain, version, promote);
          await tidy(deps, domain);
          return { heldAt: hold?.version ?? null };
        },
      );
    } catch (error) {
      throw publishFailure(error, domain);
    }
  },

  /** Removes a version that was not approved. Safe to repeat. */
  async withdrawVersion({ domain, storeId, version }: VersionInput): Promise<void> {
    requireStore('bundle', storeId, deps.bundles.identity);
    try {
      await withHeartbeats(
        () => ({ version }),
        () => deps.bundles.withdraw(domain, version),
      );
    } catch (error) {
      throw publishFailure(error, domain);
    }
  },
});

async function manifestIfThere(
  { bundles }: ActivityDependencies,
  domain: string,
  version: string,
): Promise<Manifest | null> {
  try {
    return await bundles.manifest(domain, version);
  } catch (error) {
    if (error instanceof NoSuchVersion) return null;
    throw error;
  }
}
