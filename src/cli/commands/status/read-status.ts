import type { InService } from '../../../bundle/store/bundle-store.ts';
import { nextStarts } from '../../../client/next-starts.ts';
import { runningWork } from '../../../client/running-work.ts';
import { waitingSyncs } from '../../../client/waiting-syncs.ts';
import type { Config } from '../../../config/config.ts';
import type { LatestRecords } from '../../../feedback/runs/run-records.ts';
import { openBundleStore } from '../../../wiring/open-bundle-store.ts';
import { CliFailure, type Failure } from '../../failures/cli-failure.ts';
import { explainFailure } from '../../failures/explain-failure.ts';
import { withFeedbackStore } from '../../input/feedback-store-of.ts';
import type { Selection } from '../../input/selection.ts';
import { withTemporal } from '../../temporal/session.ts';
import type { Facts, Live } from './status-lines.ts';

/** A part of the installation that did not answer, and what is therefore unknown. */
export interface Unavailable extends Pick<Failure, 'code' | 'message' | 'hint'> {
  part: 'temporal' | 'feedback store' | 'bundle store';
  unknown: string;
}

/**
 * What Temporal and the stores say of the selection, each asked a few questions whatever its size. A part that is away is
 * named; throws Temporal's failure when the feedback store is away too.
 */
export async function readStatus(
  config: Config,
  selection: Selection,
): Promise<{ facts: Facts; unavailable: Unavailable[] }> {
  const [live, records, inService] = await Promise.all([
    settled(readLive(config)),
    settled(readRecords(config, selection)),
    settled(readInService(config, selection)),
  ]);
  if (live.failure && records.failure) throw new CliFailure(live.failure);
  const away: [Unavailable['part'], string, Failure | null][] = [
    ['temporal', 'what runs, and when', live.failure],
    ['feedback store', 'how the last runs ended', records.failure],
    ['bundle store', 'what is in service and what is held', inService.failure],
  ];
  const unavailable = away.flatMap(([part, unknown, failure]): Unavailable[] => {
    if (failure === null) return [];
    const { code, message, hint } = failure;
    return [{ part, unknown, code, message, hint }];
  });
  return { facts: { live: live.found, records: records.found, inService: inService.found }, unavailable };
}

type Settled<Found> = { found: Found; failure: null } | { found: null; failure: Failure };

async function settled<Found>(reading: Promise<Found>): Promise<Settled<Found>> {
  try {
    return { found: await reading, failure: null };
  } catch (error) {
    return { found: null, failure: explainFailure(error) };
  }
}

function readLive(config: Config): Promise<Live> {
  const { taskQueue } = config.temporal;
  return withTemporal(config, async ({ client }) => {
    const [running, starts] = await Promise.all([runningWork(client, taskQueue), nextStarts(client, taskQueue)]);
    const reading = running.flatMap(({ target }) => (target.kind === 'sync' ? [target.org] : []));
    return { running, starts, syncs: await waitingSyncs(client, [...new Set(reading)]) };
  });
}

function readRecords(config: Config, selection: Selection): Promise<LatestRecords> {
  return withFeedbackStore(config, (store) => store.latestRecords(selection));
}

async function readInService(config: Config, { sites }: Selection): Promise<Map<string, InService>> {
  if (sites.length === 0) return new Map();
  const store = await openBundleStore(config.store.bundles);
  return store.inService(sites.map(({ domain }) => domain));
}
