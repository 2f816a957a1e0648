import { Context } from '@temporalio/activity';
import type { RolloutResult } from '../model/cargo.ts';
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
          const recorded = await deps.bundles.rolledOut(domain, target.name);
          if (!input.force && recorded === version && (await target.runningVersion()) === version) {
            return { target: target.name, outcome: 'already-current', detail: `runs ${version}` };
          }
          const detail = await target.rollOut({
            domain,
            manifest: await deps.bundles.manifest(domain, version),
            archivePath: await deps.bundles.archivePath(domain, version),
            url: await deps.bundles.urlOf(domain, version),
            signal,
            onProgress: () => Context.current().heartbeat({ version }),
          });
          await deps.bundles.recordRollout(domain, target.name, version);
          return { target: target.name, outcome: 'rolled-out', detail };
        } catch (error) {
          if (isTemporalFailure(error)) throw error;
          throw transient('RolloutFailed', error instanceof Error ? error.message : 'unknown failure');
        }
      },
    );
  },
});
