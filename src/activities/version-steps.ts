import { activityInfo, log } from '@temporalio/activity';
import { type ContentChanges, changesText, type Reason, reasonText } from '../exports/rules/site-export.ts';
import {
  type BundleStore,
  type Current,
  PointerMoved,
  SiteHeld,
  type SiteHold,
} from '../exports/store/bundle-store.ts';
import { summarizeChanges } from '../exports/store/compare-manifests.ts';
import { manifestIfThere, provenManifest } from '../exports/store/manifests.ts';
import { noticeReason } from '../runs/rules/notices.ts';
import { type ActivityDependencies, requireStore, scheduledAt } from './dependencies.ts';
import { bundleFailure, publishFailure } from './failures.ts';
import { claimSite, withHeartbeats } from './heartbeats.ts';
import { recordNoticesAlways } from './notices.ts';

/** When a version becomes current, and what must still be current then; null for the first version. */
interface Promotion {
  expected: Current | null;
  publishedAt: number;
}

const tries = 5;

/**
 * Makes a version current. If a person holds the site, notes it as waiting instead and returns the hold; a check's hold
 * ends, unless this is the version that it refused. Safe to repeat. Throws `PointerMoved`, `SiteHeld` and what the store
 * throws.
 */
export async function promoteUnlessHeld(
  bundles: Pick<BundleStore, 'moveCurrent' | 'current' | 'holds'>,
  domain: string,
  version: string,
  { expected, publishedAt }: Promotion,
): Promise<SiteHold | null> {
  let epoch = expected?.epoch ?? 0;
  for (let left = tries; ; left -= 1) {
    try {
      await bundles.moveCurrent(domain, version, epoch, new Date(publishedAt));
      return null;
    } catch (error) {
      // A hold may itself have moved the pointer.
      if (!(error instanceof SiteHeld || error instanceof PointerMoved)) throw error;
      const hold = await bundles.holds.noteWaiting(domain, version);
      if (hold !== null) return hold;
      if (left <= 1) throw error;
      if (error instanceof SiteHeld) {
        const { refused } = error.hold;
        if (refused?.version === version) throw error;
        if (refused) await bundles.holds.release(domain, refused.version);
        continue;
      }
      // A hold that has ended may have changed the epoch, but not what is in service.
      const now = await bundles.current(domain);
      if (now === null || now.epoch === epoch || !isSame(now, expected)) throw error;
      epoch = now.epoch;
    }
  }
}

/** Whether both are the same publication, whatever the epoch. */
function isSame(now: Current, before: Current | null): boolean {
  return now.version === before?.version && now.publishedAt === before.publishedAt;
}

/** A version in the store that the run began with. */
export interface PinnedVersion {
  domain: string;
  storeId: string;
  version: string;
}

/** Does `work` on a version with heartbeats, in the store the run began with. */
export async function versionStep<Result>(
  deps: ActivityDependencies,
  { domain, storeId, version }: PinnedVersion,
  work: (signal: AbortSignal) => Promise<Result>,
  failureOf: (error: unknown, domain: string) => Error = publishFailure,
): Promise<Result> {
  requireStore('bundle', storeId, deps.bundles);
  try {
    return await withHeartbeats(() => ({ version }), work);
  } catch (error) {
    throw failureOf(error, domain);
  }
}

interface PublishInput extends PinnedVersion {
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
async function removeOldVersions({ bundles, keepVersions }: ActivityDependencies, domain: string): Promise<void> {
  try {
    const removed = await bundles.prune(domain, keepVersions);
    if (removed.length > 0) log.info('removed old versions', { domain, removed });
    await bundles.removeAbandoned(domain, new Date());
  } catch (error) {
    log.warn('old versions could not be removed', { domain, failure: error instanceof Error ? error.name : 'unknown' });
  }
}

interface ApprovalAsked extends PinnedVersion {
  org: string;
  /** The version in service; null for none. */
  against: string | null;
  /** How long the export waits for a decision, in milliseconds. */
  timeoutMs: number;
  /** The rules that ask; none for `approval: manual` alone. */
  asks: readonly Reason[];
  /** Since when it waits (ISO 8601), to say it again to people who know. */
  again: string | null;
}

/** Steps of a version that awaits a person's approval. */
export const createApprovalActivities = (deps: ActivityDependencies) => ({
  /**
   * What the version changes compared with the current one: counts, and a few paths (architecture.md). Sends a notice
   * that it waits for approval, and why. Safe to repeat.
   */
  async describeChanges(input: ApprovalAsked): Promise<ContentChanges> {
    const { domain, version, against } = input;
    const changes = await versionStep(deps, input, async () => {
      const before = against === null ? null : await manifestIfThere(deps.bundles, domain, against);
      return summarizeChanges(before, await deps.bundles.manifest(domain, version));
    });
    await noticeOfApproval(deps, input, changes);
    return changes;
  },

  /** Makes an approved version current, unless the site has been held meanwhile. Safe to repeat. */
  async promoteVersion(
    input: PinnedVersion & { stageId: string; promote: Promotion },
  ): Promise<{ heldAt: string | null }> {
    const { domain, version, promote } = input;
    return versionStep(deps, input, async () => {
      await claimSite(deps, input);
      // It may have waited for days.
      await provenManifest(deps.bundles, domain, version);
      const hold = await promoteUnlessHeld(deps.bundles, domain, version, promote);
      await removeOldVersions(deps, domain);
      return { heldAt: hold?.version ?? null };
    });
  },

  /** Removes a version that was not approved. Safe to repeat. */
  async withdrawVersion(input: PinnedVersion & { stageId: string }): Promise<void> {
    return versionStep(deps, input, async () => {
      // Or an earlier run's promotion, cut short by a reset, could still put it into service.
      await claimSite(deps, input);
      await deps.bundles.withdraw(input.domain, input.version);
    });
  },
});

async function noticeOfApproval(
  deps: ActivityDependencies,
  { org, domain, version, against, timeoutMs, asks, again }: ApprovalAsked,
  changes: ContentChanges,
): Promise<void> {
  const at = scheduledAt();
  const until = new Date((again === null ? at.getTime() : Date.parse(again)) + timeoutMs).toISOString();
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
  const reason = noticeReason([...asks.map(reasonText), changesText(changes)].join('; '));
  const by = `approval ${activityInfo().workflowExecution?.runId} ${version}${again === null ? '' : ' again'}`;
  await recordNoticesAlways(
    deps,
    {
      type: 'approval.wanted',
      subject: domain,
      state: 'begun',
      reason,
      facts,
      until,
      ...(again !== null && { again }),
    },
    { org, by, at },
  );
}
