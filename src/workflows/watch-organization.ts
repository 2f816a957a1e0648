import { defineWorkflowOptions, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { clockTime, factsTable } from '../rules/text.ts';
import type { LastLook, WatchInput } from '../runs/rules/notices.ts';
import { readLastLook, readWatchInput } from '../runs/rules/run-messages.ts';
import { followFailover, readInput, readsInput, watchOptions } from './kit.ts';

type Look = Awaited<ReturnType<Activities['lookAround']>>;

const steps = proxyActivities<Pick<Activities, 'lookAround'>>(watchOptions);

/**
 * Checks once what has become late, stale, starved, held, drifted or refused in an organization, sends notices (webhooks.md),
 * reads targets back, and leaves the rows of runs that ended without one. Its schedule starts it every few minutes, and hands it
 * what the check before returned.
 */
export async function watchOrganization(given: WatchInput): Promise<Look> {
  const input = readInput(readWatchInput, given);
  followFailover(input);
  const { org } = input;
  const look = await steps.lookAround.executeWithOptions({ ...watchOptions, summary: `look around in ${org}` }, [
    { org, last: lastLook() },
  ]);
  show(org, look);
  return look;
}
defineWorkflowOptions(watchOrganization, readsInput);

/** The first look has none before it. */
function lastLook(): LastLook {
  const { lastResult, startTime } = workflowInfo();
  return readLastLook(lastResult) ?? { since: startTime.getTime(), absent: [], at: null };
}

function show(org: string, { holding, count }: Look): void {
  const more = count - holding.length;
  const facts: [string, string][] = [
    ['looked at', clockTime(Date.now())],
    ['holds now', count === 0 ? 'nothing that people are told of' : `${count}`],
    ...holding.map((what): [string, string] => ['', what]),
    ...(more > 0 ? [['', `and ${more} more`] as [string, string]] : []),
  ];
  setCurrentDetails(`**Watch of ${org}**\n\n${factsTable(facts)}`);
}
