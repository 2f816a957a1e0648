import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { summaryText } from '../model/details-text.ts';
import type { RolloutResult } from '../model/export/site-export.ts';
import { rolloutOptions } from './activity-options.ts';
import { failureSummary } from './failure-summary.ts';

const rollouts = proxyActivities<Pick<Activities, 'rollOut'>>(rolloutOptions);

/** Rolls the version out to every target, one after the other; `onResult` is called for each. */
export async function rollOutToTargets(
  site: { org: string; domain: string; storeId: string; targets: readonly string[] },
  { version, force }: { version: string; force: boolean },
  onResult: (result: RolloutResult) => void,
): Promise<void> {
  const { org, domain, storeId, targets } = site;
  for (const target of targets) {
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
