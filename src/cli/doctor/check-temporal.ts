import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import {
  describeNamespace,
  type SearchAttributeState,
  searchAttributeState,
  serverVersion,
} from '../../temporal/namespace.ts';
import {
  connectClient,
  connectOptions,
  TemporalSettingsInvalid,
  TemporalUnreachable,
} from '../../temporal/temporal-connection.ts';
import type { Config } from '../../config/config.ts';
import { bulkQueueOf, oldestServer } from '../../temporal/rules/failover.ts';
import { explainFailure } from '../explain-failure.ts';
import { howToStart, noWorkerText, queuesWithoutWorker } from '../worker-watch.ts';
import { bad, type Check, failed, good, skipped, warning } from './check.ts';
import { whyUnreachable } from './why-unreachable.ts';

export interface TemporalSight {
  /** For further checks; the caller closes it. Null when Temporal cannot be reached. */
  client: Client | null;
  /** Where commands look for Temporal; null when that is unknown. */
  address: string | null;
  /** Whether a worker polls the task queue of workflows. */
  worker: boolean;
  checks: Check[];
}

/** Temporal, its namespace and search attributes, and whether a worker polls. */
export async function checkTemporal(config: Config | null): Promise<TemporalSight> {
  const blind = (first: Check, address: string | null, because: string): TemporalSight => {
    const rest = ['namespace', 'search-attributes', 'worker'].map((name) => skipped(name, because));
    return { client: null, address, worker: false, checks: [first, ...rest] };
  };
  if (!config) {
    const because = 'it needs the configuration';
    return blind(skipped('temporal', because), null, because);
  }
  let options: ReturnType<typeof connectOptions>;
  try {
    options = connectOptions(config.temporal);
  } catch (error) {
    if (!(error instanceof TemporalSettingsInvalid)) throw error;
    return blind(failed('temporal', explainFailure(error)), null, 'there are no usable settings for Temporal');
  }
  const { address, tls } = options.connection;
  const secure = tls !== undefined && tls !== false && tls !== null;
  try {
    const client = await connectClient(config.temporal);
    const { checks, worker } = await lookAround(client, config, { address, secure });
    return { client, address, worker, checks };
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    const { detail, fix } = await whyUnreachable(address, secure);
    return blind(bad('temporal', `${error.message}: ${detail}`, fix), address, 'Temporal cannot be reached');
  }
}

async function lookAround(
  client: Client,
  config: Config,
  { address, secure }: { address: string; secure: boolean },
): Promise<{ checks: Check[]; worker: boolean }> {
  const { namespace } = client.options;
  const { taskQueue } = config.temporal;
  const server = await looking('temporal', async () =>
    serverCheck(await serverVersion(client), `at ${address} ${secure ? 'with' : 'without'} TLS`),
  );
  const place = await looking('namespace', async () => namespaceCheck(namespace, await describeNamespace(client)));
  if (place.level !== 'ok') {
    const rest = ['search-attributes', 'worker'].map((name) => skipped(name, 'the namespace cannot be used'));
    return { checks: [server, place, ...rest], worker: false };
  }
  const attributes = await looking('search-attributes', async () =>
    searchAttributesCheck(await searchAttributeState(client)),
  );
  const lacking = await lackingInTheEnd(() => queuesWithoutWorker(client, taskQueue));
  const worker = lacking !== null && !lacking.includes(taskQueue);
  return { checks: [server, place, attributes, workerCheck(taskQueue, lacking)], worker };
}

/** A worker that was just started, and a busy Temporal, answer late: neither is an error of the installation. */
const looks = 20;
const nextLookMs = 250;

/** What the last of some looks found: the task queues that no worker polls, or null when Temporal did not say. */
export async function lackingInTheEnd(look: () => Promise<string[] | null>): Promise<string[] | null> {
  for (let left = looks - 1; ; left -= 1) {
    const lacking = await look();
    if (lacking?.length === 0 || left === 0) return lacking;
    await sleep(nextLookMs);
  }
}

/** The verdict, or the failure that prevented it. */
async function looking(name: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    return failed(name, explainFailure(error));
  }
}

/** Cloud and development builds have no comparable version; they count as new enough. */
export function serverCheck(version: string, where: string): Check {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const detail = `server ${version === '' ? 'of unknown version' : version} ${where}`;
  const [oldestMajor, oldestMinor] = oldestServer;
  const old =
    major !== undefined &&
    (Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor));
  if (!old) return good('temporal', detail);
  return warning('temporal', detail, `upgrade to ${oldestMajor}.${oldestMinor} or newer: budgets may not work on it`);
}

function namespaceCheck(namespace: string, found: { retentionDays: number | null } | null): Check {
  if (!found) {
    const fix = 'correct temporal.namespace, or create it: `docferry setup --create-namespace`';
    return bad('namespace', `Temporal does not know the namespace ${namespace}`, fix);
  }
  const days = found.retentionDays === null ? 'an unknown time' : `${found.retentionDays} days`;
  return good('namespace', `${namespace}; closed workflows stay for ${days}`);
}

export function searchAttributesCheck({ present, missing, mistyped }: SearchAttributeState): Check {
  const name = 'search-attributes';
  if (mistyped.length > 0) {
    const fix = 'remove them (`temporal operator search-attribute remove`), then run `docferry setup`';
    return bad(name, `not of the type Keyword: ${mistyped.join(', ')}`, fix);
  }
  if (missing.length > 0) {
    return bad(name, `not registered: ${missing.join(', ')}`, 'register them with `docferry setup`');
  }
  return good(name, `registered: ${present.join(', ')}`);
}

function workerCheck(taskQueue: string, lacking: string[] | null): Check {
  if (lacking === null) return warning('worker', 'whether a worker polls is unknown', 'run it again');
  if (lacking.length === 0)
    return good('worker', `one polls the task queues ${taskQueue} and ${bulkQueueOf(taskQueue)}`);
  return bad('worker', noWorkerText(lacking), `${howToStart(taskQueue, lacking)}, with the same temporal.taskQueue`);
}
