import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NoSuchVersion } from '../exports/store/bundle-store.ts';
import { VersionDamaged } from '../exports/store/store-errors.ts';
import type { RolloutResult } from '../exports/rules/site-export.ts';
import { rollOutVersion } from '../exports/rollout/roll-out-version.ts';
import { RolloutSuperseded } from '../exports/rollout/rollout-superseded.ts';
import { TargetRefused } from '../exports/rollout/target-refused.ts';
import { type ActivityDependencies, requireStore, siteOf } from './dependencies.ts';
import { withHeartbeats } from './heartbeats.ts';
import { isTemporalFailure, notConfigured, permanent, transient } from './history-safe-failures.ts';
import { storeFailure } from './store-failures.ts';

export interface RollOutInput {
  org: string;
  domain: string;
  storeId: string;
  version: string;
  target: string;
  force: boolean;
}

/** A target that failed so often is reported as failed; the others continue. */
const rolloutTries = 4;

export const createRolloutActivities = (deps: ActivityDependencies) => ({
  /** Puts a published version into service at one target, unless it already runs there (E6). */
  async rollOut(input: RollOutInput): Promise<RolloutResult> {
    requireStore('bundle', input.storeId, deps.bundles);
    const { domain, version } = input;
    const target = siteOf(deps, input.org, domain).targets.find((candidate) => candidate.name === input.target);
    if (!target) {
      throw notConfigured('InvalidInput', `rollout target ${input.target} is no longer in the configuration`);
    }
    return withHeartbeats(
      () => ({ version }),
      async (signal) => {
        try {
          return await rollOutVersion({
            bundles: deps.bundles,
            domain,
            version,
            target,
            force: input.force,
            whileCurrent: true,
            signal,
            onProgress: () => Context.current().heartbeat({ version }),
          });
        } catch (error) {
          throw rolloutFailure(error);
        }
      },
    );
  },
});

/** A refusal that a person must fix is not retried; the next export tries again (E6). */
function rolloutFailure(error: unknown): Error {
  if (isTemporalFailure(error)) return error;
  const message = error instanceof Error ? error.message : 'unknown failure';
  if (error instanceof RolloutSuperseded) return permanent('Superseded', message);
  const isFinal = error instanceof TargetRefused || error instanceof NoSuchVersion || error instanceof VersionDamaged;
  if (isFinal) return permanent('RolloutFailed', message);
  const failure = storeFailure(error) ?? transient('RolloutFailed', message);
  // Counted here: what the configuration lacks is tried more often.
  const isLast = activityInfo().attempt >= rolloutTries;
  return isLast ? ApplicationFailure.nonRetryable(failure.message, failure.type) : failure;
}
