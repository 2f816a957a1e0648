import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { summaryText } from '../rules/details-text.ts';
import type { RolloutResult } from '../exports/rules/site-export.ts';
import { rolloutOptions } from './activity-options.ts';
import { failureSummary } from './failure-summary.ts';

const rollouts = proxyActivities<Pick<Activities, 'rollOut'>>(rolloutOptions);

export interface WantedRollout {
  version: string;
  force: boolean;
  /** Results of targets that were seen to run the version already: they are left alone. */
  known?: readonly RolloutResult[];
}

/** Rolls the version out to every target, one after the other; `onResult` is called for each. */
export async function rollOutToTargets(
  site: { org: string; domain: string; storeId: string; targets: readonly string[] },
  { version, force, known = [] }: WantedRollout,
  onResult: (result: RolloutResult) => void,
): Promise<void> {
  const { org, domain, storeId, targets } = site;
  for (const target of targets) {
    const seen = known.find((result) => result.target === target);
    if (seen) {
      onResult(seen);
      continue;
    }
    try {
      onResult(
        await rollouts.rollOut.executeWithOptions(
          { ...rolloutOptions, summary: summaryText(`${version} to ${target}`) },
          [{ org, domain, storeId, version, target, force }],
        ),
      );
    } catch (error) {
      if (isCancellation(error)) throw error;
      onResult({ target, outcome: 'failed', detail: failureSummary(error).slice(0, 300) });
    }
  }
}
