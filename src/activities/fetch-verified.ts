import { dirname } from 'node:path';
import { Context, log } from '@temporalio/activity';
import type { StagedManifest } from '../exports/store/bundle-store.ts';
import { changing } from '../exports/store/store-errors.ts';
import { withRendering } from '../exports/verify/rendering.ts';
import type { VerificationReport } from '../exports/verify/verification-report.ts';
import { verifyInThread } from '../exports/verify/verify-in-thread.ts';
import type { ArchiveFacts, Reason } from '../exports/rules/archive-facts.ts';
import { type ActivityDependencies, type Site, siteOf } from './dependencies.ts';
import { transient } from './history-safe-failures.ts';
import { type FetchDetails, fetchArchive } from './fetch-archive.ts';

/** A workflow's result stays small (architecture.md); `export verify` lists all reasons. */
const reasonsInResult = 10;
/** An archive may hold this many times its own size. */
const maxRatio = 200;
const verificationTimeLimitMs = 3_600_000;
const announceAfterMs = 5_000;

/** What is known of an archive that was fetched and verified; `reasons` why it is refused. */
export type VerifiedArchive =
  | { ok: true; staged: StagedManifest }
  | { ok: false; pages: number; files: number; archive: ArchiveFacts | null; reasons: Reason[] };

/**
 * Downloads the archive of a job to the store's private place and verifies it. What is refused is removed. Throws what
 * `fetchArchive` and the store throw.
 */
export async function fetchVerified(
  deps: ActivityDependencies,
  input: { org: string; domain: string; jobId: string; stageId: string },
  details: FetchDetails,
  signal: AbortSignal,
): Promise<VerifiedArchive> {
  const { org, domain, jobId, stageId } = input;
  const site = siteOf(deps, org, domain);
  const file = await deps.bundles.stagingFile(stageId);
  const downloaded = await fetchArchive(deps, { input, site, file, details, signal });
  details.phase = 'verifying';
  const { maxBytes, maxFiles, siteRules } = site;
  const inThread = () =>
    verifyInThread(file, {
      limits: { maxBytes, maxFiles, maxRatio },
      siteRules,
      domain,
      timeLimitMs: verificationTimeLimitMs,
      signal,
    });
  const verified = await deps.metrics.timed('docferry_verification_seconds', { org }, () =>
    announcedIfLong(deps, inThread),
  );
  if (verified.archive && verified.archive.sha256 !== downloaded.sha256) {
    // The next attempt must not resume after corrupt bytes.
    await deps.bundles.discardStaged(stageId);
    throw transient('DownloadFailed', 'the bytes on disk are not those that were downloaded');
  }
  const report = await renderIfAsked(file, verified, site, signal);
  logWarnings(report);
  const { ok, pages, files, archive, contentDigest, reasons, entries } = report;
  if (ok && archive && contentDigest !== null) {
    return { ok, staged: { contentDigest, archive, pages, files: entries, source: { org, domain, jobId } } };
  }
  await deps.bundles.discardStaged(stageId);
  return { ok: false, pages, files, archive, reasons: reasons.slice(0, reasonsInResult) };
}

/** Adds what sampled pages show in a browser, if the site asks for it and nothing else is wrong. */
async function renderIfAsked(
  file: string,
  report: VerificationReport,
  { render, siteRules }: Site,
  signal: AbortSignal,
): Promise<VerificationReport> {
  if (render === null || !report.ok) return report;
  const { renderSite } = await import('../exports/verify/render-site.ts');
  const { pages, browser, sandbox } = render;
  const options = { pages, browser: { program: browser, sandbox }, levels: siteRules };
  const workFolder = dirname(file);
  const rendering = await changing(workFolder, () => renderSite(file, report, { ...options, workFolder, signal }));
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
