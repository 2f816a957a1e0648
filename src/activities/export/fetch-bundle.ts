import { dirname } from 'node:path';
import { Context, log } from '@temporalio/activity';
import { NoRoom } from '../../bundle/download/download-errors.ts';
import { copySlots } from '../../bundle/machine-limits.ts';
import { type Current, NoSuchVersion, PointerMoved } from '../../bundle/store/bundle-store.ts';
import { sealOf } from '../../bundle/store/staged-seal.ts';
import { withRendering } from '../../bundle/verification/render/rendering.ts';
import type { VerificationReport } from '../../bundle/verification/verification-report.ts';
import { verifyInThread } from '../../bundle/verification/verify-in-thread.ts';
import type { ArchiveFacts, Reason } from '../../model/export/archive-facts.ts';
import { versionWithContent } from '../../model/export/site-export.ts';
import { versionName } from '../../model/export/version-name.ts';
import { type ActivityDependencies, requireStore, type Site, siteOf } from '../dependencies.ts';
import { earlierDetails, wasCancelled, withHeartbeats } from '../heartbeats.ts';
import { transient } from '../history-safe-failures.ts';
import { bundleFailure, publishFailure } from './bundle-failures.ts';
import { type PublishedAt, publishStaged } from './bundle-versions.ts';
import { type FetchDetails, fetchArchive, noFetchYet } from './fetch-archive.ts';
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

/** A workflow's result stays small (architecture.md); `export verify` lists all reasons. */
const reasonsInResult = 10;
/** An archive may hold this many times its own size. */
const maxRatio = 200;
const verificationTimeLimitMs = 3_600_000;
const announceAfterMs = 5_000;

export const createFetchActivities = (deps: ActivityDependencies) => ({
  /**
   * Asks for a link, downloads the archive to the store's staging and verifies it. It is one activity, so that links
   * stay out of the history and every attempt gets a fresh one (E3). A refused archive is a normal result. New content
   * is published in the same step if asked.
   */
  async fetchBundle(input: FetchBundleInput): Promise<FetchBundleResult> {
    requireStore('bundle', input.storeId, deps.bundles);
    const site = siteOf(deps, input.org, input.domain);
    const details: FetchDetails = { ...earlierDetails(noFetchYet) };
    return withHeartbeats(
      () => details,
      async (signal) => {
        try {
          const file = await deps.bundles.stagingFile(input.stageId);
          details.phase = 'fetching';
          const downloaded = await fetchArchive(deps, { input, site, file, details, signal });
          details.phase = 'verifying';
          const verify = () =>
            verifyInThread(file, {
              limits: { maxBytes: site.maxBytes, maxFiles: site.maxFiles, maxRatio },
              siteRules: site.siteRules,
              domain: input.domain,
              timeLimitMs: verificationTimeLimitMs,
              signal,
            });
          const labels = { org: input.org };
          const verified = await deps.metrics.timed('docferry_verification_seconds', labels, () =>
            announcedIfLong(deps, verify),
          );
          if (verified.archive && verified.archive.sha256 !== downloaded.sha256) {
            // The next attempt must not resume after corrupt bytes.
            await deps.bundles.discardStaged(input.stageId);
            throw transient('DownloadFailed', 'the bytes on disk are not those that were downloaded');
          }
          const report = await renderIfAsked(file, verified, site, signal);
          logWarnings(report);
          const found = await keepOrDiscard(deps, site, input, report, signal);
          const { linksRequested } = details;
          if (!found.ok || found.kept !== null || !input.publish) return { linksRequested, ...found };
          details.phase = 'publishing';
          return { linksRequested, ...found, published: await publishedAtOnce(deps, input, found, signal) };
        } catch (error) {
          // Half a download would keep the disk full; the next attempt begins when there is room.
          if (error instanceof NoRoom) await deps.bundles.discardStaged(input.stageId);
          throw bundleFailure(error);
        }
      },
    );
  },
});

/** Adds what sampled pages show in a browser, if the site asks for it and nothing else is wrong. */
async function renderIfAsked(
  file: string,
  report: VerificationReport,
  { render, siteRules }: Site,
  signal: AbortSignal,
): Promise<VerificationReport> {
  if (render === null || !report.ok) return report;
  const { renderSite } = await import('../../bundle/verification/render/render-site.ts');
  const { pages, browser, sandbox } = render;
  const options = { pages, browser: { program: browser, sandbox }, levels: siteRules };
  const rendering = await renderSite(file, report, { ...options, workFolder: dirname(file), signal });
  return withRendering(report, rendering);
}

async function announceVerifying(deps: ActivityDependencies): Promise<void> {
  const { workflowId } = Context.current().info.workflowExecution ?? {};
  if (!workflowId) return;
  try {
    await deps.announcePhase(workflowId, 'verifying');
  } catch {
    log.info('the workflow could not be told of the phase');
  }
}

/** Tells the workflow of the phase if it lasts: telling costs events. */
async function announcedIfLong<Result>(deps: ActivityDependencies, verify: () => Promise<Result>): Promise<Result> {
  const timer = setTimeout(() => announceVerifying(deps), announceAfterMs);
  try {
    return await verify();
  } finally {
    clearTimeout(timer);
  }
}

/** Names the rules only; `export verify` gives the details. */
function logWarnings({ warnings }: VerificationReport): void {
  const rules = [...new Set(warnings.map(({ rule }) => rule))];
  if (rules.length > 0) log.warn('the bundle breaks rules that only warn', { rules });
}

/** Leaves the verified archive staged, with its manifest, if it is to be published. */
async function keepOrDiscard(
  deps: ActivityDependencies,
  site: Site,
  input: FetchBundleInput,
  report: VerificationReport,
  signal: AbortSignal,
) {
  const { pages, files, archive, contentDigest } = report;
  if (!report.ok || !archive || contentDigest === null) {
    await deps.bundles.discardStaged(input.stageId);
    return { ok: false as const, pages, files, archive, reasons: report.reasons.slice(0, reasonsInResult) };
  }
  const current = await deps.bundles.current(input.domain);
  const staged = {
    contentDigest,
    archive,
    pages,
    files: report.entries,
    source: { org: input.org, domain: input.domain, jobId: input.jobId },
  };
  const { heldAt, waiting } = await holdOf(deps, input.domain, contentDigest);
  const found = { ok: true as const, pages, files, archive, contentDigest, seal: sealOf(staged), current, heldAt };
  const known = input.force ? null : versionWithContent({ contentDigest, current, waiting });
  // An earlier attempt may have published it already: publishing it again finishes that.
  if (known !== null && known !== ownVersion(input, contentDigest)) {
    // Nothing changed, so nothing will be published (E6). Described first: another attempt needs the download.
    const kept = await describeKept(deps, site, { version: known, serving: heldAt ?? known });
    await deps.bundles.discardStaged(input.stageId);
    return { ...found, kept };
  }
  await copySlots.use(signal, () => deps.bundles.saveStaged(input.stageId, staged, { signal }));
  return { ...found, kept: null };
}

/** The version that this step publishes; null when another step does. */
const ownVersion = ({ publish }: FetchBundleInput, contentDigest: string): string | null =>
  publish ? versionName(publish.namedAt, contentDigest) : null;

/** Null if it cannot be published now: a separate step reports why, and tries again. */
async function publishedAtOnce(
  deps: ActivityDependencies,
  input: FetchBundleInput,
  found: { contentDigest: string; seal: string; current: Current | null; heldAt: string | null },
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
    if (signal.aborted && wasCancelled()) throw error;
    log.warn('a separate step publishes the version', { failure: publishFailure(error, domain).message });
    return null;
  }
}

/**
 * Whether an earlier attempt has published this version and another run has put its own into service since, which stays
 * (E5). The pointer says nothing of the earlier attempt: its answer was lost.
 */
async function isOvertaken(
  { bundles }: ActivityDependencies,
  { domain, publish }: FetchBundleInput,
  { version, current, heldAt }: { version: string; current: Current | null; heldAt: string | null },
): Promise<boolean> {
  if (!publish?.promote || current === null || heldAt !== null || current.version === version) return false;
  if (Date.parse(current.publishedAt) <= publish.namedAt) return false;
  return (await bundles.manifest(domain, version).catch(ignoring(NoSuchVersion))) !== null;
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
