import { dirname } from 'node:path';
import { log } from '@temporalio/activity';
import { type DownloadResult, download, noRoomIfFull, requireRoom, TransferSpeed } from '../exports/fetch/download.ts';
import { NoRoom } from '../exports/fetch/presigned-links.ts';
import { alreadyCurrent, pointAt, returnSite } from '../exports/rollout/roll-out-version.ts';
import type { StepTaken } from '../exports/rules/rollout-steps.ts';
import {
  type ArchiveFacts,
  fewReasons,
  type Reason,
  versionName,
  versionWithContent,
} from '../exports/rules/site-export.ts';
import { judgeChange } from '../exports/rules/verification-rules.ts';
import { copySlots } from '../exports/semaphore.ts';
import {
  type Current,
  changing,
  NoSuchVersion,
  PointerMoved,
  type StagedManifest,
  VersionDamaged,
} from '../exports/store/bundle-store.ts';
import { measuredChange } from '../exports/store/compare-manifests.ts';
import { manifestIfThere, provenManifest, sealOf } from '../exports/store/manifests.ts';
import { type VerificationReport, withRendering } from '../exports/verify/verify-archive.ts';
import { verifyInThread } from '../exports/verify/verify-in-thread.ts';
import { earlierDetails } from './attempts.ts';
import {
  type ActivityDependencies,
  bundleFailure,
  nameOf,
  organizationOf,
  publishFailure,
  requireStore,
  runOf,
  type Site,
  siteOf,
  temporalClock,
  transient,
} from './dependencies.ts';
import { type PublishedAt, publishStaged, removeLeftovers } from './export-steps.ts';
import { claimSite, isShuttingDown, withHeartbeats } from './heartbeats.ts';

export interface FetchBundleInput {
  org: string;
  domain: string;
  storeId: string;
  jobId: string;
  /** Names the private place of the download; the same for every attempt. */
  stageId: string;
  force: boolean;
  /** Publishes new content at once, under the name of that moment; absent or null when a person approves it first. */
  publish?: { namedAt: number; promote: boolean } | null;
}

export type FetchBundleResult = {
  linksRequested: number;
  pages: number;
  files: number;
  archive: ArchiveFacts | null;
} & (
  | {
      ok: true;
      contentDigest: string;
      /** The seal (`sealOf`) of what was staged: nothing else may be published. */
      seal: string;
      current: Current | null;
      heldAt: string | null;
      /** Why a person decides before the new content becomes current, besides `approval: manual`; it is not published yet. */
      asks: Reason[];
      /** The version that has this content already; null for new content, which is staged for publication. */
      kept: KeptVersion | null;
      /** New content that was published at once; null when that failed and another step tries again, absent if not asked. */
      published?: PublishedAt | null;
    }
  | { ok: false; reasons: Reason[] }
);

/** A published version whose content an export has found again (E6). */
interface KeptVersion {
  version: string;
  url: string;
  /** Of the version, not of the download, which may be packed differently. */
  archive: ArchiveFacts;
  /** Why a check refused it; absent when it serves, or a person holds the site. */
  reasons?: Reason[];
  /** Targets that run the version in service, so that they need no rollout. */
  rollouts: StepTaken[];
}

/** What a heartbeat shows of a download: never the link. */
export const noFetchYet = {
  phase: 'fetching',
  linksRequested: 0,
  offset: 0,
  /** 0 when unknown. */
  total: 0,
  /** 0 when unknown. */
  bytesPerSecond: 0,
  /** How long the attempts have downloaded so far, in milliseconds: nothing else counts against the site's limit. */
  downloadMs: 0,
  /** The seal (`sealOf`) of what an attempt staged; empty before that. */
  seal: '',
  /** Why a person decides about it: the rules read only the archive, which the next attempt does not read again. */
  asks: [] as Reason[],
};
type FetchDetails = typeof noFetchYet;

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
    const now = temporalClock();
    return withHeartbeats(
      () => details,
      async (signal) => {
        try {
          await claimSite(deps, input);
          const before = details.seal === '' ? null : await deps.bundles.staged(input.stageId, details.seal);
          const verified = before
            ? { ok: true as const, staged: before, asks: details.asks }
            : await fetchVerified(deps, input, details, signal);
          const { linksRequested } = details;
          if (!verified.ok) return { linksRequested, ...verified };
          const stage = async () => {
            if (before) return;
            // Temporal has it before anything is staged: the next attempt goes on from there, even after a kill.
            details.seal = sealOf(verified.staged);
            details.asks = verified.asks;
            await copySlots.use(signal, () => deps.bundles.saveStaged(input.stageId, verified.staged, { signal }));
          };
          const found = await keepOrStage(deps, site, input, verified, stage);
          if (!found.ok) return { linksRequested, ...found };
          if (found.kept !== null || found.asks.length > 0 || !input.publish) return { linksRequested, ...found };
          details.phase = 'publishing';
          const publication = { ...found, again: before !== null, publishedAt: now() };
          const published = await publishedAtOnce(deps, input, publication, signal);
          return { linksRequested, ...found, published };
        } catch (error) {
          // Half a download would keep the disk full, as may what others left; the next attempt begins when there is room.
          if (error instanceof NoRoom) {
            await deps.bundles.discardStaged(input.stageId);
            await removeLeftovers(deps, input.domain);
          }
          throw bundleFailure(error);
        }
      },
    );
  },
});

/** Stages the archive if it is to be published; removes one whose content is known or that breaks a rule. */
async function keepOrStage(
  deps: ActivityDependencies,
  site: Site,
  input: FetchBundleInput,
  { staged, asks }: { staged: StagedManifest; asks: readonly Reason[] },
  stage: () => Promise<void>,
) {
  const { pages, files, archive, contentDigest } = staged;
  const { current, hold, waiting } = await standingOf(deps, input.domain, contentDigest);
  const heldAt = hold?.version ?? null;
  const facts = { pages, files: files.length, archive, contentDigest, seal: sealOf(staged) };
  const found = { ok: true as const, ...facts, current, heldAt };
  const known = input.force ? null : versionWithContent({ contentDigest, current, waiting });
  // An earlier attempt may have published it already: publishing it again finishes that.
  if (known !== null && known !== ownVersion(input, contentDigest)) {
    // Nothing changed, so nothing will be published (E6). Described first: another attempt needs the download.
    const kept = await describeKept(deps, site, { version: known, serving: heldAt ?? known });
    await deps.bundles.discardStaged(input.stageId);
    if (hold?.refused === undefined) return { ...found, asks: [], kept };
    const reasons = [{ rule: 'check-failed', path: null, detail: hold.reason ?? 'see hold.json' }];
    return { ...found, asks: [], kept: { ...kept, reasons } };
  }
  // Nobody approves what does not become current.
  if (input.publish?.promote === false) {
    await stage();
    return { ...found, asks: [], kept: null };
  }
  const { version: against } = current ?? { version: null };
  const before = against === null ? null : await manifestIfThere(deps.bundles, input.domain, against);
  const judged = judgeChange(measuredChange(before, staged), site.bundle.rules);
  logWarnings(judged);
  if (judged.reasons.length > 0) {
    await deps.bundles.discardStaged(input.stageId);
    const { pages, files, archive } = facts;
    return { ok: false as const, pages, files, archive, reasons: judged.reasons };
  }
  await stage();
  return { ...found, asks: fewReasons([...judged.asks, ...asks], reasonsInResult), kept: null };
}

const ownVersion = ({ publish }: FetchBundleInput, contentDigest: string): string | null =>
  publish ? versionName(publish.namedAt, contentDigest) : null;

/** Null if it cannot be published now: a separate step reports why, and tries again. */
async function publishedAtOnce(
  deps: ActivityDependencies,
  input: FetchBundleInput,
  found: {
    contentDigest: string;
    seal: string;
    current: Current | null;
    heldAt: string | null;
    again: boolean;
    /** By Temporal's clock: other attempts compare it with the moments at which workflows began to fetch. */
    publishedAt: number;
  },
  signal: AbortSignal,
): Promise<PublishedAt | null> {
  const { contentDigest, seal, current, publishedAt } = found;
  const version = ownVersion(input, contentDigest);
  if (version === null) return null;
  const { domain, stageId } = input;
  if (await isOvertaken(deps, input, { ...found, version })) throw publishFailure(new PointerMoved(), domain);
  const promote = input.publish?.promote ? { expected: current, publishedAt } : null;
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
  return again || (await manifestIfThere(bundles, domain, version)) !== null;
}

/**
 * What is in service, the hold, and the version that has the content besides the held one: the one that waits for the
 * release or, when none waits, any that is kept, such as the one that was rolled back from. A rollback or a return that
 * ended between its hold and the pointer left another version in service: it is taken to its end first.
 */
async function standingOf({ bundles }: ActivityDependencies, domain: string, contentDigest: string) {
  let current = await bundles.current(domain);
  let hold = await bundles.holds.of(domain);
  if (hold && (hold.refused ? hold.refused.version === current?.version : hold.version !== current?.version)) {
    const at = new Date(hold.since);
    if (hold.refused) {
      const { version, contentDigest: refused } = hold.refused;
      const reason = hold.reason ?? 'a check refused it';
      await returnSite(bundles, { domain, version, reason, at }).catch((error: unknown) => {
        // Other content takes the refused version out of service, too.
        const isImpossible = error instanceof VersionDamaged || error instanceof NoSuchVersion;
        if (!isImpossible || refused === contentDigest) throw error;
        log.warn('the site cannot return to the version before', { domain, failure: nameOf(error) });
      });
    } else {
      await provenManifest(bundles, domain, hold.version);
      await pointAt(bundles, domain, hold.version, at);
    }
    current = await bundles.current(domain);
    hold = await bundles.holds.of(domain);
  }
  if (hold === null) return { current, hold, waiting: null };
  if (hold.refused) {
    const isRefused = hold.refused.contentDigest === contentDigest;
    if (isRefused) return { current, hold, waiting: await manifestIfThere(bundles, domain, hold.refused.version) };
    // What is in service again is other content too; anything else ends the hold once it becomes current.
    const isBack = current?.contentDigest === contentDigest;
    if (isBack) await bundles.holds.release(domain, hold.refused.version);
    return { current, hold: null, waiting: null };
  }
  // The waiting version may have been removed by hand.
  const waiting = hold.waiting && (await manifestIfThere(bundles, domain, hold.waiting));
  const kept = waiting || (await bundles.versions(domain)).find((found) => found.contentDigest === contentDigest);
  return { current, hold, waiting: kept ? { version: kept.version, contentDigest: kept.contentDigest } : null };
}

/** Describes the stored version that matches; targets should run `serving`, another one on a held site. */
async function describeKept(
  { bundles }: ActivityDependencies,
  { domain, targets }: Site,
  { version, serving }: { version: string; serving: string },
): Promise<KeptVersion> {
  const manifest = await bundles.manifest(domain, version);
  const rollouts: StepTaken[] = [];
  for (const target of targets) {
    // A target that cannot be read gets the version again, in a separate step that reports the trouble.
    const running = await alreadyCurrent(bundles, domain, serving, target).catch(() => null);
    if (running !== null) rollouts.push(running);
  }
  return { version, url: bundles.urlOf(domain, manifest), archive: manifest.archive, rollouts };
}

/** A workflow's result stays small; `export verify` lists twice as many. */
const reasonsInResult = 10;
/** An archive may hold this many times its own size. */
const maxRatio = 200;
const verificationTimeLimitMs = 3_600_000;
const announceAfterMs = 5_000;

/** An archive that was fetched and verified, or the `reasons` why it is refused. */
type VerifiedArchive =
  | { ok: true; staged: StagedManifest; asks: Reason[] }
  | { ok: false; pages: number; files: number; archive: ArchiveFacts | null; reasons: Reason[] };

/** Downloads and verifies the archive of a job; removes a refused one. Throws as `fetchArchive` and the store. */
async function fetchVerified(
  deps: ActivityDependencies,
  input: { org: string; domain: string; jobId: string; stageId: string },
  details: FetchDetails,
  signal: AbortSignal,
): Promise<VerifiedArchive> {
  const { org, domain, jobId, stageId } = input;
  const site = siteOf(deps, org, domain);
  const file = await deps.bundles.stagingFile(stageId);
  const downloaded = await fetchArchive(deps, input, { site, file, details, signal });
  details.phase = 'verifying';
  const { maxBytes, maxFiles, rules } = site.bundle;
  const inThread = () =>
    verifyInThread(file, {
      limits: { maxBytes, maxFiles, maxRatio },
      siteRules: rules,
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
  const { ok, pages, files, archive, contentDigest, reasons, asks, entries } = report;
  if (ok && archive && contentDigest !== null) {
    const verified = { contentDigest, archive, pages, files: entries, source: { org, domain, jobId } };
    return { ok, staged: verified, asks: fewReasons(asks, reasonsInResult) };
  }
  await deps.bundles.discardStaged(stageId);
  return { ok: false, pages, files, archive, reasons: fewReasons(reasons, reasonsInResult) };
}

/** Adds what sampled pages show in a browser, if the site asks for it and nothing else is wrong. */
async function renderIfAsked(
  file: string,
  report: VerificationReport,
  { bundle: { render, rules } }: Site,
  signal: AbortSignal,
): Promise<VerificationReport> {
  if (render === null || !report.ok) return report;
  const { renderSite } = await import('../exports/verify/render-site.ts');
  const { pages, browser, sandbox } = render;
  const options = { pages, browser: { program: browser, sandbox }, levels: rules };
  const workFolder = dirname(file);
  const work = async () => {
    await requireRoom(workFolder, report.bytes);
    return renderSite(file, report, { ...options, workFolder, signal });
  };
  const rendering = await changing(workFolder, () =>
    work().catch((error: unknown) => {
      throw noRoomIfFull(error, workFolder);
    }),
  );
  return withRendering(report, rendering);
}

/** Notifies the workflow of the phase if it lasts: each message costs events. */
async function announcedIfLong<Result>(deps: ActivityDependencies, verify: () => Promise<Result>): Promise<Result> {
  const { workflowId } = runOf();
  const timer = setTimeout(
    () =>
      deps
        .announcePhase(workflowId, 'verifying')
        .catch(() => log.info('the workflow could not be notified of the phase')),
    announceAfterMs,
  );
  try {
    return await verify();
  } finally {
    clearTimeout(timer);
  }
}

/** Names the rules only; `export verify` gives the details. */
function logWarnings({ warnings }: Pick<VerificationReport, 'warnings'>): void {
  const rules = [...new Set(warnings.map(({ rule }) => rule))];
  if (rules.length > 0) log.warn('the bundle breaks rules that only warn', { rules });
}

const watchEveryMs = 1_000;

/** Downloads a job's archive by links that nothing else sees; keeps `details` up to date. Throws as `download`. */
async function fetchArchive(
  deps: ActivityDependencies,
  input: { org: string; domain: string; jobId: string },
  { site, file, details, signal }: { site: Site; file: string; details: FetchDetails; signal: AbortSignal },
): Promise<DownloadResult> {
  const { service } = organizationOf(deps, input.org);
  details.phase = 'fetching';
  const timeLimitMs = Math.max(0, site.bundle.timeoutMs - details.downloadMs);
  const watch = watchDownload(details);
  try {
    const work = () =>
      download(
        async () => {
          let serviceNowMs: number | null = null;
          const onDate = (ms: number) => {
            serviceNowMs = ms;
          };
          const link = await service.createBundleLink(input.jobId, { signal, onDate });
          details.linksRequested += 1;
          return { href: link.url.href, sizeBytes: link.sizeBytes, expiresAtMs: link.expiresAtMs, serviceNowMs };
        },
        {
          file,
          policy: deps.linkPolicy,
          maxBytes: site.bundle.maxBytes,
          connections: site.bundle.connections,
          timeLimitMs,
          signal,
          onProgress: ({ offset, total }) => {
            details.offset = offset;
            details.total = total ?? 0;
          },
        },
      );
    // Disk errors are failures of the store, not of the service.
    const labels = { org: input.org };
    const downloaded = await deps.metrics.timed('docferry_download_seconds', labels, () =>
      changing(dirname(file), work),
    );
    deps.metrics.add('docferry_download_bytes_total', labels, downloaded.bytes);
    const { bytes, announcedBytes } = downloaded;
    // What counts is the actual length, and the format shows whether it is complete.
    if (announcedBytes !== null && announcedBytes !== bytes) {
      const { domain } = input;
      log.warn('the service announced another length than the archive has', { domain, announcedBytes, bytes });
    }
    return downloaded;
  } finally {
    watch.end();
  }
}

/**
 * Keeps speed and time spent in the heartbeat's details; the workflow gets no message, since each costs events.
 */
function watchDownload(details: FetchDetails): { end(): void } {
  const speed = new TransferSpeed();
  const { downloadMs: before } = details;
  const begun = performance.now();
  const addTime = () => {
    details.downloadMs = before + Math.round(performance.now() - begun);
  };
  const timer = setInterval(() => {
    addTime();
    speed.add(Date.now(), details.offset);
    details.bytesPerSecond = Math.round(speed.bytesPerSecond ?? 0);
  }, watchEveryMs);
  return {
    end: () => {
      clearInterval(timer);
      addTime();
    },
  };
}
