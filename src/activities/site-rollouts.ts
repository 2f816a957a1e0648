import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { defaultLimits } from '../exports/archive/check-entry.ts';
import { pointAt, returnSite } from '../exports/rollout/return-site.ts';
import { takeStep } from '../exports/rollout/roll-out-version.ts';
import { TargetRefused, VersionRefused } from '../exports/rollout/rollout-target.ts';
import type { RolloutStep, StepTaken } from '../exports/rules/rollout-steps.ts';
import { NoSuchVersion, PointerMoved, SiteHeld, VersionDamaged } from '../exports/store/bundle-store.ts';
import { provenManifest } from '../exports/store/manifests.ts';
import { verifyVersion } from '../exports/store/verify-store.ts';
import { type ActivityDependencies, requireStore, siteOf } from './dependencies.ts';
import { isTemporalFailure, notConfigured, permanent, publishFailure, storeFailure, transient } from './failures.ts';
import { earlierDetails, stillMine, withHeartbeats } from './heartbeats.ts';
import { type PinnedVersion, versionStep } from './version-steps.ts';

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
const tries: Record<RolloutStep, number> = { place: 4, run: 3, check: 4 };

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
    const details = () => ({ version, elapsedMs: Math.round(earlierMs + performance.now() - began) });
    const alive = () => stillMine(deps);
    // Of both, the answer about the attempt comes last: the one about the version may take a while.
    const guard = async () => {
      if ((await bundles.current(domain))?.version !== version) {
        throw new PointerMoved(`${version} is no longer the current version: the target was left unchanged`);
      }
      await alive();
    };
    const how = { guard, alive, elapsedMs: earlierMs, onProgress: () => Context.current().heartbeat(details()) };
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
  const isFinal = error instanceof NoSuchVersion || error instanceof VersionDamaged;
  if (isFinal || (error instanceof TargetRefused && !error.mayPass)) return permanent('RolloutFailed', message);
  const failure =
    storeFailure(error) ?? transient('RolloutFailed', message, step === 'run' ? programAgainMs : undefined);
  // Counted here: what the configuration lacks is tried more often.
  const isLast = activityInfo().attempt >= tries[step];
  return isLast ? ApplicationFailure.nonRetryable(failure.message, failure.type) : failure;
}

interface RollBackInput extends PinnedVersion {
  reason: string | null;
  /** Fixed by the workflow, so that attempts agree. */
  at: number;
}

interface RolledBack {
  contentDigest: string;
  pages: number;
  files: number;
  url: string;
}

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
      const onProgress = () => Context.current().heartbeat({ version });
      await verifyVersion(bundles, domain, version, { limits, structureOnly: true, signal, onProgress });
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
      await pointAt(bundles, domain, version, new Date(at));
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

/** A version named by a person can be wrong in ways that an export's own version cannot. */
function rollbackFailure(error: unknown, domain: string): Error {
  if (error instanceof NoSuchVersion) return permanent('NoSuchVersion', error.message);
  if (error instanceof VersionDamaged) return permanent('VersionDamaged', error.message);
  if (error instanceof SiteHeld) return permanent('SiteHeld', error.message);
  return publishFailure(error, domain);
}
