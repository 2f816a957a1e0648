import { activityInfo } from '@temporalio/activity';
import { type Manifest, NoSuchVersion } from '../exports/store/bundle-store.ts';
import { provenManifest } from '../exports/store/proven-manifest.ts';
import { summarizeChanges } from './summarize-changes.ts';
import { type ContentChanges, changesText } from '../exports/rules/content-changes.ts';
import { noticeReason } from '../runs/rules/notice.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { tellAnyway } from './tell.ts';
import { scheduledAt } from './scheduled-at.ts';
import { removeOldVersions } from './bundle-versions.ts';
import { type Promotion, promoteUnlessHeld } from './promotion.ts';
import { type StoredVersion, versionStep } from './version-step.ts';

export interface ApprovalAsked extends StoredVersion {
  org: string;
  /** The version in service; null for none. */
  against: string | null;
  /** How long a decision is waited for, in milliseconds. */
  timeoutMs: number;
}

/** Steps of a version that awaits a person's approval. */
export const createApprovalActivities = (deps: ActivityDependencies) => ({
  /**
   * What the version changes compared with the current one: counts, and a few paths (architecture.md). Tells people that
   * it waits for their approval. Safe to repeat.
   */
  async describeChanges(input: ApprovalAsked): Promise<ContentChanges> {
    const { domain, version, against } = input;
    const changes = await versionStep(deps, input, async () => {
      const before = against === null ? null : await manifestIfThere(deps, domain, against);
      return summarizeChanges(before, await deps.bundles.manifest(domain, version));
    });
    await tellOfApproval(deps, input, changes);
    return changes;
  },

  /** Makes an approved version current, unless the site has been held meanwhile. Safe to repeat. */
  async promoteVersion(input: StoredVersion & { promote: Promotion }): Promise<{ heldAt: string | null }> {
    const { domain, version, promote } = input;
    return versionStep(deps, input, async () => {
      // It may have waited for days.
      await provenManifest(deps.bundles, domain, version);
      const hold = await promoteUnlessHeld(deps.bundles, domain, version, promote);
      await removeOldVersions(deps, domain);
      return { heldAt: hold?.version ?? null };
    });
  },

  /** Removes a version that was not approved. Safe to repeat. */
  async withdrawVersion(input: StoredVersion): Promise<void> {
    return versionStep(deps, input, () => deps.bundles.withdraw(input.domain, input.version));
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

async function tellOfApproval(
  deps: ActivityDependencies,
  { org, domain, version, against, timeoutMs }: ApprovalAsked,
  changes: ContentChanges,
): Promise<void> {
  const at = scheduledAt();
  const until = new Date(at.getTime() + timeoutMs).toISOString();
  const { pages, others } = changes;
  const facts = {
    version,
    ...(against !== null && { against }),
    pagesAdded: pages.added,
    pagesRemoved: pages.removed,
    pagesChanged: pages.changed,
    pagesMoved: pages.moved,
    otherFiles: others.added + others.removed + others.changed + others.moved,
    expiresAt: until,
  };
  const reason = noticeReason(changesText(changes));
  const by = `approval ${activityInfo().workflowExecution?.runId} ${version}`;
  await tellAnyway(
    deps,
    { type: 'approval.wanted', subject: domain, state: 'begun', reason, facts, until },
    { org, by, at },
  );
}
