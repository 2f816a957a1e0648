import type { InService } from '../../../exports/store/bundle-store.ts';
import type { Config } from '../../../config/config.ts';
import { gatherFacts, readLive, type Unavailable } from '../../../operations/gather-facts.ts';
import type { Facts, Selection } from '../../../operations/status-lines.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { CliFailure, failureOf } from '../../cli-failure.ts';
import { explainFailure } from '../../explain-failure.ts';
import { withFeedbackStore } from '../../feedback-store-of.ts';
import { withTemporal } from '../../session.ts';

/**
 * What Temporal and the stores say of the selection, each asked a few questions whatever its size. A part that does not
 * answer is named; throws Temporal's failure when the feedback store is down too.
 */
export async function readStatus(
  config: Config,
  selection: Selection,
): Promise<{ facts: Facts; unavailable: Unavailable[] }> {
  const { taskQueue } = config.temporal;
  const sources = {
    live: () => withTemporal(config, ({ client }) => readLive(client, taskQueue)),
    records: () => withFeedbackStore(config, (store) => store.latestRecords(selection)),
    inService: () => readInService(config, selection),
  };
  const found = await gatherFacts(sources, explainFailure);
  const away = (part: Unavailable['part']) => found.unavailable.find((one) => one.part === part);
  const temporal = away('temporal');
  if (temporal && away('feedback store')) {
    throw new CliFailure(failureOf(temporal.code, temporal.message, temporal.hint));
  }
  return found;
}

async function readInService(config: Config, { sites }: Selection): Promise<Map<string, InService>> {
  if (sites.length === 0) return new Map();
  const store = await openBundleStore(config.store.bundles);
  return store.inService(sites.map(({ domain }) => domain));
}
