import { log } from '@temporalio/activity';
import { NoRoom } from '../exports/fetch/download-errors.ts';
import { copySlots } from '../exports/machine-limits.ts';
import { type Current, NoSuchVersion, PointerMoved, type StagedManifest } from '../exports/store/bundle-store.ts';
import { sealOf } from '../exports/store/staged-seal.ts';
import type { ArchiveFacts, Reason } from '../exports/rules/archive-facts.ts';
import { versionWithContent } from '../exports/rules/site-export.ts';
import { versionName } from '../exports/rules/version-name.ts';
import { type ActivityDependencies, requireStore, type Site, siteOf } from './dependencies.ts';
import { claimSite, earlierDetails, isShuttingDown, withHeartbeats } from './heartbeats.ts';
import { bundleFailure, publishFailure } from './bundle-failures.ts';
import { type PublishedAt, publishStaged } from './bundle-versions.ts';
import { type FetchDetails, noFetchYet } from './fetch-archive.ts';
import { fetchVerified } from './fetch-verified.ts';
import { describeKept, type KeptVersion } from './kept-version.ts';

export interface FetchBundleInput {
  org: string;
  domain: string;
  storeId: string;
  jobId: string;
  /** Names the private place of the download; the same for every attempt. */
  stageId: string;
  /** Publish even if nothing changed. */
  force: boolean;
  /** Publishes new content at once, under the name of that moment; absent or null when a person approves it first. */
  publish?: { namedAt: number; promote: boolean } | null;
}

export type FetchBundleResult = {
  /** Links asked for, over all attempts. */
  linksRequested: number;
  pages: number;
  files: number;
  archive: ArchiveFacts | null;
} & (
  | {
      ok: true;
      contentDigest: string;
      /** The seal of what was staged (`staged-seal.ts`): nothing else may be published. */
      seal: string;
      current: Current | null;
      /** The version at which a person holds the site. */
      heldAt: string | null;
      /** The version that has this content already; null for new content, which is staged for publication. */
      kept: KeptVersion | null;
      /** New content that was published at once; null when that failed and another step tries again, absent if not asked. */
      published?: PublishedAt | null;
    }
  | { ok: false; reasons: Reason[] }
);

export const createFetchActivities = (deps: ActivityDependencies) => ({
  /**
   * Asks for a link, downloads the archive to the store's staging and verifies it. It is one activity, so that links
   * stay out of the history and every attempt gets a fresh one (E3). A refused archive is a normal result. New content
   * is published in the same step if asked. An attempt after one that had staged the archive goes on from there, without
   * the service.
   */
  async fetchBundle(input: FetchBundleInput): Promise<FetchBundleResult> {
    requireStore('bundle', input.storeId, deps.bundles);
    const site = siteOf(deps, input.org, input.domain);
    const details: FetchDetails = { ...earlierDetails(noFetchYet) };
    return withHeartbeats(
      () => details,
      async (signal) => {
        try {
          await claimSite(deps, input);
          const before = details.seal === '' ? null : await deps.bundles.staged(input.stageId, details.seal);
          const verified = before
            ? { ok: true as const, staged: before }
            : await fetchVerified(deps, input, details, signal);
          const { linksRequested } = details;
          if (!verified.ok) return { linksRequested, ...verified };
          const stage = async () => {
            if (before) return;
            // Temporal has it before anything is staged: the next attempt goes on from there, even after a kill.
            details.seal = sealOf(verified.staged);
            await copySlots.use(signal, () => deps.bundles.saveStaged(input.stageId, verified.staged, { signal }));
          };
          const found = await keepOrStage(deps, site, input, verified.staged, stage);
          if (found.kept !== null || !input.publish) return { linksRequested, ...found };
          details.phase = 'publishing';
          const published = await publishedAtOnce(deps, input, { ...found, again: before !== null }, signal);
          return { linksRequested, ...found, published };
        } catch (error) {
          // Half a download would keep the disk full; the next attempt begins when there is room.
          if (error instanceof NoRoom) await deps.bundles.discardStaged(input.stageId);
          throw bundleFailure(error);
        }
      },
    );
  },
});

/** Stages the verified archive with its manifest if it is to be published, and removes it otherwise. */
async function keepOrStage(
  deps: ActivityDependencies,
  site: Site,
  input: FetchBundleInput,
  staged: StagedManifest,
  stage: () => Promise<void>,
) {
  const { pages, files, archive, contentDigest } = staged;
  const current = await deps.bundles.current(input.domain);
  const { heldAt, waiting } = await holdOf(deps, input.domain, contentDigest);
  const facts = { pages, files: files.length, archive, contentDigest, seal: sealOf(staged) };
  const found = { ok: true as const, ...facts, current, heldAt };
  const known = input.force ? null : versionWithContent({ contentDigest, current, waiting });
  // An earlier attempt may have published it already: publishing it again finishes that.
  if (known !== null && known !== ownVersion(input, contentDigest)) {
    // Nothing changed, so nothing will be published (E6). Described first: another attempt needs the download.
    const kept = await describeKept(deps, site, { version: known, serving: heldAt ?? known });
    await deps.bundles.discardStaged(input.stageId);
    return { ...found, kept };
  }
  await stage();
  return { ...found, kept: null };
}

/** The version that this step publishes; null when another step does. */
const ownVersion = ({ publish }: FetchBundleInput, contentDigest: string): string | null =>
  publish ? versionName(publish.namedAt, contentDigest) : null;

/** Null if it cannot be published now: a separate step reports why, and tries again. */
async function publishedAtOnce(
  deps: ActivityDependencies,
  input: FetchBundleInput,
  found: { contentDigest: string; seal: string; current: Current | null; heldAt: string | null; again: boolean },
  signal: AbortSignal,
): Promise<PublishedAt | null> {
  const { contentDigest, seal, current } = found;
  const version = ownVersion(input, contentDigest);
  if (version === null) return null;
  const { domain, stageId } = input;
  if (await isOvertaken(deps, input, { ...found, version })) throw publishFailure(new PointerMoved(), domain);
  const promote = input.publish?.promote ? { expected: current, publishedAt: Date.now() } : null;
  try {
    return await publishStaged(deps, { domain, version, stageId, seal, promote, awaitsApproval: false }, signal);
  } catch (error) {
    // A worker that shuts down leaves the rest to the other step: another attempt would download again.
    if (signal.aborted && !isShuttingDown()) throw error;
    log.warn('a separate step publishes the version', { failure: publishFailure(error, domain).message });
    return null;
  }
}

/**
 * Whether an earlier attempt has staged or published this version, and another run has put its own into service since,
 * which stays (E5). The pointer says nothing of the earlier attempt: its answer was lost.
 */
async function isOvertaken(
  { bundles }: ActivityDependencies,
  { domain, publish }: FetchBundleInput,
  {
    version,
    current,
    heldAt,
    again,
  }: { version: string; current: Current | null; heldAt: string | null; again: boolean },
): Promise<boolean> {
  if (!publish?.promote || current === null || heldAt !== null || current.version === version) return false;
  if (Date.parse(current.publishedAt) <= publish.namedAt) return false;
  return again || (await bundles.manifest(domain, version).catch(ignoring(NoSuchVersion))) !== null;
}

/**
 * The hold, and the version that has the content besides the held one: the one that waits for the release or, when none
 * waits, any that is kept, such as the one that was rolled back from.
 */
async function holdOf({ bundles }: ActivityDependencies, domain: string, contentDigest: string) {
  const hold = await bundles.holds.of(domain);
  if (hold === null) return { heldAt: null, waiting: null };
  // The waiting version may have been removed by hand.
  const waiting = hold.waiting && (await bundles.manifest(domain, hold.waiting).catch(ignoring(NoSuchVersion)));
  const kept = waiting || (await bundles.versions(domain)).find((found) => found.contentDigest === contentDigest);
  return { heldAt: hold.version, waiting: kept ? { version: kept.version, contentDigest: kept.contentDigest } : null };
}

/** Turns errors of a class into null. */
function ignoring(type: new () => Error): (error: unknown) => null {
  return (error) => {
    if (error instanceof type) return null;
    throw error;
  };
}
