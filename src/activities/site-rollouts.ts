import { Context } from '@temporalio/activity';
import type { RolloutResult } from '../model/cargo.ts';
import { rollOutVersion } from '../rollout/roll-out-version.ts';
import { TargetRefused } from '../rollout/target-refused.ts';
import { type ActivityDependencies, requireStore, siteOf } from './dependencies.ts';
import { isTemporalFailure, permanent, transient } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';

export interface RollOutInput {
  org: string;
  domain: string;
  storeId: string;
  version: string;
  target: string;
  force: boolean;
}

export const createRolloutActivities = (deps: ActivityDependencies) => ({
  /** Puts a published version into service at one target, unless it already runs there (DESIGN E6). */
  async rollOut(input: RollOutInput): Promise<RolloutResult> {
    requireStore('bundle', input.storeId, deps.bundles.identity);
    const { domain, version } = input;
    const target = siteOf(deps, input.org, domain).targets.find((candidate) => candidate.name === input.target);
    if (!target) throw permanent('InvalidInput', `rollout target ${input.target} is not in the configuration any more`);
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
            signal,
            onProgress: () => Context.current().heartbeat({ version }),
          });
        } catch (error) {
          if (isTemporalFailure(error)) throw error;
          const message = error instanceof Error ? error.message : 'unknown failure';
          // Refused until a person mends it; the next export tries again (E6).
          throw error instanceof TargetRefused
            ? permanent('RolloutFailed', message)
            : transient('RolloutFailed', message);
        }
      },
    );
  },
});
