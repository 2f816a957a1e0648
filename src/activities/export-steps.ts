import { activityInfo, log } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { defaultLimits } from '../exports/archive/check-entry.ts';
import { pointAt, returnSite, takeStep } from '../exports/rollout/roll-out-version.ts';
import { stepsOf, TargetRefused, VersionRefused } from '../exports/rollout/rollout-target.ts';
import type { RolloutStep, StepTaken } from '../exports/rules/rollout-steps.ts';
import {
  answeredStart,
  type ContentChanges,
  changesText,
  type ExportParameters,
  heldMeanwhile,
  type Reason,
  type RollbackResult,
  reasonText,
} from '../exports/rules/site-export.ts';
import {
  type BundleStore,
  type Current,
  NoSuchVersion,
  PointerMoved,
  SiteHeld,
  type SiteHold,
  VersionDamaged,
} from '../exports/store/bundle-store.ts';
import { summarizeChanges } from '../exports/store/compare-manifests.ts';
import { manifestIfThere, provenManifest } from '../exports/store/manifests.ts';
import { verifyVersion } from '../exports/store/verify-store.ts';
import { noticeReason } from '../runs/rules/notices.ts';
import type { ExportJob } from '../service/documentation-service.ts';
import {
  MalformedResponse,
  NetworkError,
  NotReady,
  RateLimited,
  ServerError,
  ServiceError,
} from '../service/errors.ts';
import { beat, earlierDetails, failedBy } from './attempts.ts';
import {
  type ActivityDependencies,
  answerWithin,
  bundleFailure,
  databaseAnswersWithinMs,
  isTemporalFailure,
  nameOf,
  notConfigured,
  organizationOf,
  permanent,
  publishFailure,
  requireStore,
  scheduledAt,
  serviceFailure,
  siteOf,
  storeFailure,
  transient,
  versionFailure,
} from './dependencies.ts';
import { claimSite, stillMine, withHeartbeats } from './heartbeats.ts';
import { recordNoticesAlways, subscribers } from './notices.ts';

/** How many exports the polls of the next one learn from. */
const learntFrom = 10;

interface SiteInput {
  org: string;
  domain: string;
}

/** Jobs of the static export at the service (service-interface.md endpoints 2 and 3). */
export const createJobActivities = (deps: ActivityDependencies) => ({
  /** What this worker's configuration says about the site. */
  async planExport({ org, domain }: SiteInput) {
    const { targets, job, approval } = siteOf(deps, org, domain);
    const [usualJobsMs, webhooks] = await Promise.all([
      usualJobs(deps, org, domain),
      subscribers(deps, org, 'export.finished'),
    ]);
    return {
      storeId: deps.bundles.identity,
      jobTimeoutMs: job.timeoutMs,
      jobAttempts: job.attempts,
      startTimeoutMs: job.startTimeoutMs,
      approval,
      /** How long the site's last complete exports took at the service, the latest first. */
      usualJobsMs,
      /** What the rollout targets do with a version, in the order of the configuration. */
      targets: targets.map(stepsOf),
      /** Names of the webhooks to notify. */
      webhooks,
    };
  },

  /** One request, repeated only if it certainly started nothing: else `StartUncertain`, and the workflow decides. */
  async startJob(input: SiteInput & { parameters: ExportParameters }): Promise<{ jobId: string }> {
    const { siteVersion, paths } = input.parameters;
    const { service } = organizationOf(deps, input.org);
    try {
      const request = {
        domain: input.domain,
        ...(siteVersion === undefined ? {} : { version: siteVersion }),
        ...(paths === undefined || paths.length === 0 ? {} : { paths }),
      };
      const job = await withBeats((signal) => service.startExportJob(request, { signal }));
      return { jobId: job.jobId };
    } catch (error) {
      throw startFailure(error);
    }
  },

  /** Asks for the job's state once; a job the service does not know is `missing`. */
  async readJob(input: { org: string; jobId: string }): Promise<JobReading> {
    const { service } = organizationOf(deps, input.org);
    try {
      const job = await withBeats((signal) => service.getExportJob(input.jobId, { signal }));
      return { state: job.state, status: job.status, percent: job.percent, pageCount: job.pageCount, error: job.error };
    } catch (error) {
      const failure = serviceFailure(error, true);
      if ('type' in failure && failure.type === 'NotFound') {
        return { state: 'missing', status: 'missing', percent: null, pageCount: null, error: null };
      }
      throw failure;
    }
  },
});

export type JobReading = Omit<ExportJob, 'state' | 'jobId'> & { state: ExportJob['state'] | 'missing' };

/** None while the database is down: polls are only spaced less well then, and exports do not need it. */
async function usualJobs({ feedback }: ActivityDependencies, org: string, domain: string): Promise<number[]> {
  try {
    const durations = await answerWithin(databaseAnswersWithinMs, feedback.jobDurations(org, domain, learntFrom));
    if (durations !== null) return durations;
    log.warn('the database does not answer: earlier exports are not known', { domain });
  } catch (error) {
    log.warn('earlier exports are not known', { domain, failure: nameOf(error) });
  }
  return [];
}

/** One request with heartbeats: a worker that dies during it is noticed in seconds. */
const withBeats = <Result>(request: (signal: AbortSignal) => Promise<Result>): Promise<Result> =>
  withHeartbeats(() => ({}), request);

function startFailure(error: unknown): Error {
  // The worker shut down or the activity was paused during the request, which may have arrived: the workflow repeats it.
  if (error instanceof CancelledFailure) return error;
  // Nothing was sent.
  if (error instanceof ApplicationFailure && error.type === 'HeartbeatRefused') return error;
  if (isTemporalFailure(error)) return permanent('WorkerShutdown', error.message);
  const startedNothing =
    error instanceof RateLimited ||
    error instanceof NotReady ||
    (error instanceof ServerError && error.status === 503) ||
    (error instanceof NetworkError && !error.mayHaveArrived);
  if (startedNothing) {
    const delay = error instanceof RateLimited ? (error.retryAfterMs ?? undefined) : undefined;
    return transient(error.name, error.message, delay);
  }
  const failure = serviceFailure(error);
  const isUncertain = error instanceof ServiceError && 'nonRetryable' in failure && failure.nonRetryable !== true;
  if (!isUncertain) return failure;
  const wasAnswered = error instanceof MalformedResponse && error.held !== null && error.held !== 'HTML';
  return permanent('StartUncertain', failure.message, wasAnswered ? [answeredStart] : []);
}

/** When a version becomes current, and what must still be current then; null for the first version. */
interface Promotion {
  expected: Current | null;
  publishedAt: number;
}

const promotionTries = 5;

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
  for (let left = promotionTries; ; left -= 1) {
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
      if (now === null || now.epoch === epoch || now.version !== expected?.version) throw error;
      if (now.publishedAt !== expected.publishedAt) throw error;
      epoch = now.epoch;
    }
  }
}

/** A version in the store that the run began with. */
interface PinnedVersion {
  domain: string;
  storeId: string;
  version: string;
}

async function versionStep<Result>(
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
  awaitsApproval: boolean;
}

/** Where a published version is, and the version at which a person holds the site. */
export interface PublishedAt {
  url: string;
  heldAt: string | null;
}

export const createBundleActivities = (deps: ActivityDependencies) => ({
  /** Makes the staged archive a version and, if asked and not held (`heldAt`), the current one. Safe to repeat. */
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
  } catch (error) {
    log.warn('old versions could not be removed', { domain, failure: nameOf(error) });
  }
  await removeLeftovers({ bundles }, domain);
}

/** Removes what dead runs left. A failure is only logged: the next export tries again. */
export async function removeLeftovers(
  { bundles }: Pick<ActivityDependencies, 'bundles'>,
  domain: string,
): Promise<void> {
  try {
    await bundles.removeAbandoned(domain, new Date());
  } catch (error) {
    log.warn('what earlier runs left could not be removed', { domain, failure: nameOf(error) });
  }
}

interface ApprovalAsked extends PinnedVersion {
  org: string;
  against: string | null;
  timeoutMs: number;
  /** The rules that ask; none for `approval: manual` alone. */
  asks: readonly Reason[];
  /** Since when it waits (ISO 8601), to say it again to people who know. */
  again: string | null;
}

/** Steps of a version that awaits a person's approval. */
export const createApprovalActivities = (deps: ActivityDependencies) => ({
  /** What the version changes (counts, a few paths), and a notice that it waits, and why. Safe to repeat. */
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
      mark: version,
      ...(again !== null && { again }),
    },
    { org, by, at },
  );
}

interface RollOutInput {
  org: string;
  domain: string;
  storeId: string;
  version: string;
  /** What readers got before; null when nothing is known of it. */
  previous: string | null;
  target: string;
  step: RolloutStep;
  force: boolean;
}

/** A step that failed so often is reported as failed; the other targets continue. */
const stepTries: Record<RolloutStep, number> = { place: 4, run: 3, check: 4 };

/** What a program needs may come back meanwhile: a cluster, a network. */
const programAgainMs = 30_000;

export const createRolloutActivities = (deps: ActivityDependencies) => ({
  /** Takes one step to put a published version into service at one target, unless it already runs there (E6). */
  async rollOut(input: RollOutInput): Promise<StepTaken> {
    const { bundles } = deps;
    requireStore('bundle', input.storeId, bundles);
    const { org, domain, version, previous, step, force } = input;
    const target = siteOf(deps, org, domain).targets.find((candidate) => candidate.name === input.target);
    if (!target?.[step]) {
      throw notConfigured('InvalidInput', `rollout target ${input.target} is no longer in the configuration`);
    }
    const { elapsedMs: earlierMs } = earlierDetails({ version, elapsedMs: 0 });
    const began = performance.now();
    // In whole seconds: an accepted heartbeat counts for the next changes only while its details stay the same.
    const details = () => ({ version, elapsedMs: earlierMs + Math.floor((performance.now() - began) / 1_000) * 1_000 });
    const alive = () => stillMine(deps);
    // Of both, the answer about the attempt comes last: the one about the version may take a while.
    const guard = async () => {
      if ((await bundles.current(domain))?.version !== version) {
        throw new PointerMoved(`${version} is no longer the current version: the target was left unchanged`);
      }
      await alive();
    };
    const how = { guard, alive, elapsedMs: earlierMs, onProgress: beat };
    try {
      return await withHeartbeats(details, (signal) =>
        takeStep({ bundles, domain, version, previous, target, step, force, signal, ...how }),
      );
    } catch (error) {
      throw stepFailure(error, step);
    }
  },
});

/** A refusal that a person must fix is not retried; the next export tries again (E6). */
function stepFailure(error: unknown, step: RolloutStep): Error {
  if (isTemporalFailure(error)) return error;
  const message = error instanceof Error ? error.message : 'unknown failure';
  if (error instanceof PointerMoved) return permanent('Superseded', message);
  if (error instanceof VersionRefused) return permanent('VersionRefused', message);
  if (error instanceof VersionDamaged) return versionFailure('RolloutFailed', error);
  const isFinal = error instanceof NoSuchVersion || (error instanceof TargetRefused && !error.mayPass);
  if (isFinal) return permanent('RolloutFailed', message);
  const failure =
    storeFailure(error) ?? transient('RolloutFailed', message, step === 'run' ? programAgainMs : undefined);
  // What the configuration lacks, or a worker that shuts down, has its own count.
  const isLast = failedBy(step) >= stepTries[step];
  return isLast ? ApplicationFailure.nonRetryable(failure.message, failure.type) : failure;
}

interface RollBackInput extends PinnedVersion {
  reason: string | null;
  /** Fixed by the workflow, so that attempts agree. */
  at: number;
}

type RolledBack = Pick<RollbackResult, 'contentDigest' | 'pages' | 'files' | 'url'>;

export const createRollbackActivities = (deps: ActivityDependencies) => ({
  /** Verifies a kept version again and returns the current one; changes nothing. */
  async checkKeptVersion(input: PinnedVersion): Promise<{ current: string | null }> {
    const { bundles } = deps;
    const { domain, version } = input;
    const check = async (signal: AbortSignal) => {
      const { files } = await provenManifest(bundles, domain, version);
      // The rules and limits of its day accepted it: now only integrity counts. Folders count as files too.
      const unpacked = files.reduce((sum, { bytes }) => sum + bytes, 0);
      const maxBytes = Math.max(defaultLimits.maxBytes, unpacked);
      const maxFiles = Math.max(defaultLimits.maxFiles, files.length * 10);
      const limits = { ...defaultLimits, maxBytes, maxFiles };
      await verifyVersion(bundles, domain, version, { limits, structureOnly: true, signal, onProgress: beat });
      return { current: (await bundles.current(domain))?.version ?? null };
    };
    return versionStep(deps, input, check, rollbackFailure);
  },

  /** Holds the site at the version, then makes it current: in this order, so that no export comes in between (E7). */
  async rollBackTo(input: RollBackInput): Promise<RolledBack> {
    const { bundles } = deps;
    const { domain, version, reason, at } = input;
    const move = async (): Promise<RolledBack> => {
      const manifest = await provenManifest(bundles, domain, version);
      await bundles.holds.place(domain, { version, reason, at: new Date(at) });
      await pointAt(bundles, domain, version, new Date(at)).catch((error: unknown) => {
        throw stayingHeld(rollbackFailure(error, domain));
      });
      const { contentDigest, pages, files } = manifest;
      return { contentDigest, pages, files: files.length, url: bundles.urlOf(domain, manifest) };
    };
    return versionStep(deps, input, move, rollbackFailure);
  },

  /** Takes the pointer back from a version that a check refused, and holds the site there (E9). Safe to repeat. */
  async returnToVersionBefore(
    input: PinnedVersion & { reason: string; at: number },
  ): Promise<{ version: string | null }> {
    const at = new Date(input.at);
    return versionStep(
      deps,
      input,
      async () => ({ version: await returnSite(deps.bundles, { ...input, at }) }),
      rollbackFailure,
    );
  },
});

/** Says to the workflow that the hold is in force, although the pointer has not moved. */
function stayingHeld(failure: Error): Error {
  if (!(failure instanceof ApplicationFailure)) return failure;
  return new ApplicationFailure(failure.message, failure.type, failure.nonRetryable, [heldMeanwhile]);
}

/** A version named by a person can be wrong in ways that an export's own version cannot. */
function rollbackFailure(error: unknown, domain: string): Error {
  if (error instanceof NoSuchVersion) return permanent('NoSuchVersion', error.message);
  if (error instanceof VersionDamaged) return versionFailure('VersionDamaged', error);
  return publishFailure(error, domain);
}
