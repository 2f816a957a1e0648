import { dirname } from 'node:path';
import { Context, log } from '@temporalio/activity';
import { ArchiveTooLarge, DownloadFailed, LinkExpired, NoRoom } from '../bundle/download/download-errors.ts';
import { LinkRefused } from '../bundle/download/link-policy.ts';
import { type Current, NoSuchVersion, PointerMoved } from '../bundle/store/bundle-store.ts';
import { BrowserUnusable } from '../bundle/verification/render/browser-unusable.ts';
import { withRendering } from '../bundle/verification/render/rendering.ts';
import type { VerificationReport } from '../bundle/verification/verification-report.ts';
import { verifyInThread } from '../bundle/verification/verify-in-thread.ts';
import type { ArchiveFacts, Reason } from '../model/export/archive-facts.ts';
import { versionWithContent } from '../model/export/site-export.ts';
import { type ActivityDependencies, requireStore, type Site, siteOf } from './dependencies.ts';
import { isTemporalFailure, permanent, transient } from './failures.ts';
import { type FetchDetails, fetchArchive, noFetchYet } from './fetch-archive.ts';
import { earlierDetails, withHeartbeats } from './heartbeats.ts';
import { type Promotion, promoteUnlessHeld } from './promotion.ts';
import { serviceFailure } from './service-failures.ts';
import { storeFailure } from './store-failures.ts';

export interface FetchBundleInput {
  org: string;
  domain: string;
  storeId: string;
  jobId: string;
  /** Names the private place of the download; the same for every attempt. */
  stageId: string;
  /** Publish even if nothing changed. Absent in runs that began with release 0.1.0. */
  force?: boolean;
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
      current: Current | null;
      /** The version at which a person holds the site; absent in runs that began with release 0.1.0. */
      heldAt?: string | null;
      /** Stored under that hold, and not in service. */
      waiting?: { version: string; contentDigest: string } | null;
    }
  | { ok: false; reasons: Reason[] }
);

export interface PublishInput {
  org: string;
  domain: string;
  storeId: string;
  stageId: string;
  version: string;
  /** Whether readers of `current` see it, and the pointer's epoch it must still have. */
  promote: Promotion | null;
  /** A person decides before it is promoted. */
  awaitsApproval?: boolean;
}

export interface DescribeInput {
  domain: string;
  version: string;
  /** Absent in runs that began with release 0.1.0. */
  storeId?: string;
}

/** Reasons are listed in a workflow's result, which stays small (architecture.md); the log of `export verify` has them all. */
const reasonsInResult = 10;
/** An archive may hold this many times its own size. */
const maxRatio = 200;
const verificationTimeLimitMs = 3_600_000;

export const createBundleActivities = (deps: ActivityDependencies) => ({
  /**
   * Asks for a link, downloads the archive to the store's staging and verifies it: one activity, because a link must
   * never stand in a history and is fresh in every attempt (E3). A refused archive is a normal result.
   */
  async fetchBundle(input: FetchBundleInput): Promise<FetchBundleResult> {
    requireStore('bundle', input.storeId, deps.bundles.identity);
    const site = siteOf(deps, input.org, input.domain);
    const details: FetchDetails = {
      ...earlierDetails<FetchDetails>(noFetchYet),
    };
    return withHeartbeats(
      () => details,
      async (signal) => {
        try {
          const file = await deps.bundles.stagingFile(input.stageId);
          details.phase = 'fetching';
          const downloaded = await fetchArchive(deps, { input, site, file, details, signal });
          details.phase = 'verifying';
          await announceVerifying(deps);
          const verified = await verifyInThread(file, {
            limits: { maxBytes: site.maxBytes, maxFiles: site.maxFiles, maxRatio },
            siteRules: site.siteRules,
            domain: input.domain,
            timeLimitMs: verificationTimeLimitMs,
            signal,
          });
          if (verified.archive && verified.archive.sha256 !== downloaded.sha256) {
            // The next attempt must not go on behind bytes that are not the source's.
            await deps.bundles.discardStaged(input.stageId);
            throw transient('DownloadFailed', 'the bytes on disk are not those that were downloaded');
          }
          const report = await renderIfAsked(file, verified, site, signal);
          logWarnings(report);
          return { linksRequested: details.linksRequested, ...(await conclude(deps, input, report, signal)) };
        } catch (error) {
          // A full disk is no place for half a download; the next attempt begins when there is room.
          if (error instanceof NoRoom) await deps.bundles.discardStaged(input.stageId);
          throw bundleFailure(error);
        }
      },
    );
  },

  /**
   * Makes the staged archive a version and, if asked, the current one, unless the site is held (`heldAt`, absent in runs
   * that began with release 0.1.0) or a person decides first. Safe to repeat.
   */
  async publishVersion(input: PublishInput): Promise<{ url: string; heldAt?: string | null }> {
    requireStore('bundle', input.storeId, deps.bundles.identity);
    const { bundles } = deps;
    const { domain, version, promote, awaitsApproval } = input;
    const publish = async () => {
      await bundles.publish(input.stageId, version);
      const promotion = () => (promote ? promoteUnlessHeld(bundles, domain, version, promote) : null);
      const hold = await (awaitsApproval ? bundles.holds.noteWaiting(domain, version) : promotion());
      // One that may yet be rejected costs no older one its place.
      if (!awaitsApproval || hold) await tidy(deps, domain);
      return { url: await bundles.urlOf(domain, version), heldAt: hold?.version ?? null };
    };
    try {
      return await withHeartbeats(() => ({ version }), publish);
    } catch (error) {
      throw publishFailure(error, domain);
    }
  },

  /** What is published under a version's address. */
  async describeVersion(input: DescribeInput): Promise<{ url: string; archive: ArchiveFacts }> {
    if (input.storeId !== undefined) requireStore('bundle', input.storeId, deps.bundles.identity);
    const { domain, version } = input;
    try {
      const { archive } = await deps.bundles.manifest(domain, version);
      return { url: await deps.bundles.urlOf(domain, version), archive };
    } catch (error) {
      throw bundleFailure(error);
    }
  },

  /** Removes a download that will not be published. Safe to repeat. */
  async discardStaged(input: { storeId: string; stageId: string }): Promise<void> {
    requireStore('bundle', input.storeId, deps.bundles.identity);
    try {
      await deps.bundles.discardStaged(input.stageId);
    } catch (error) {
      throw bundleFailure(error);
    }
  },
});

/** Where a version comes, old ones go. What cannot be removed now is not worth a failure: the next time does it. */
export async function tidy({ bundles, keepVersions }: ActivityDependencies, domain: string): Promise<void> {
  try {
    const removed = await bundles.prune(domain, keepVersions);
    if (removed.length > 0) log.info('removed old versions', { domain, removed });
    await bundles.sweep(new Date());
  } catch (error) {
    log.warn('old versions could not be removed', { domain, failure: error instanceof Error ? error.name : 'unknown' });
  }
}

/** The report with what sampled pages show in a browser, where the site asks for it and nothing else is wrong. */
async function renderIfAsked(
  file: string,
  report: VerificationReport,
  { render, siteRules }: Site,
  signal: AbortSignal,
): Promise<VerificationReport> {
  if (render === null || !report.ok) return report;
  const { renderSite } = await import('../bundle/verification/render/render-site.ts');
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

/** By rule alone: what exactly is wrong, `export verify` says. */
function logWarnings({ warnings }: VerificationReport): void {
  const rules = [...new Set(warnings.map(({ rule }) => rule))];
  if (rules.length > 0) log.warn('the bundle breaks rules that only warn', { rules });
}

async function conclude(
  deps: ActivityDependencies,
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
  const published = { contentDigest, current, ...(await holdOf(deps, input.domain)) };
  if (input.force === false && versionWithContent(published) !== null) {
    // Nothing changed, so nothing will be published (E6): no worker needs the download, wherever it is.
    await deps.bundles.discardStaged(input.stageId);
    return { ok: true as const, pages, files, archive, ...published };
  }
  const staged = {
    contentDigest,
    archive,
    pages,
    files: report.entries,
    source: { org: input.org, domain: input.domain, jobId: input.jobId },
  };
  await deps.bundles.saveStaged(input.stageId, staged, { signal });
  return { ok: true as const, pages, files, archive, ...published };
}

async function holdOf({ bundles }: ActivityDependencies, domain: string) {
  const hold = await bundles.holds.of(domain);
  if (!hold?.waiting) return { heldAt: hold?.version ?? null, waiting: null };
  const { version } = hold;
  // Removed by hand, it is no reason to stop.
  const manifest = await bundles.manifest(domain, hold.waiting).catch(ignoring(NoSuchVersion));
  const waiting = manifest && { version: manifest.version, contentDigest: manifest.contentDigest };
  return { heldAt: version, waiting };
}

/** Turns errors of a class into null. */
function ignoring(type: new () => Error): (error: unknown) => null {
  return (error) => {
    if (error instanceof type) return null;
    throw error;
  };
}

/** As `bundleFailure`, for steps that move the pointer. */
export function publishFailure(error: unknown, domain: string): Error {
  if (error instanceof PointerMoved) {
    return permanent('Superseded', `another run has published ${domain} in the meantime; its version stays current`);
  }
  return bundleFailure(error);
}

function bundleFailure(error: unknown): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof BrowserUnusable) return permanent('InvalidInput', `${error.message}: ${error.hint}`);
  if (error instanceof LinkRefused) return permanent('LinkRefused', error.message);
  if (error instanceof ArchiveTooLarge) return permanent('ArchiveTooLarge', error.message);
  if (error instanceof NoRoom) return transient('StoreUnavailable', error.message);
  if (error instanceof LinkExpired) return transient('DownloadFailed', error.message);
  if (error instanceof DownloadFailed) {
    const { message, retryable, retryAfterMs } = error;
    if (!retryable) return permanent('DownloadFailed', message);
    return transient('DownloadFailed', message, retryAfterMs ?? undefined);
  }
  return storeFailure(error) ?? serviceFailure(error, Context.current().info.attempt);
}
