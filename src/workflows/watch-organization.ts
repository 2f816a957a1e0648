import {
  condition,
  defineWorkflowOptions,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { lookSignal } from '../contract.ts';
import { clockTime, factsTable } from '../rules/text.ts';
import type { NoticeType, WatchInput } from '../runs/rules/notices.ts';
import { readWatchInput } from '../runs/rules/run-messages.ts';
import {
  failureSummary,
  failureType,
  followFailover,
  nextInput,
  noInput,
  onSignal,
  readInput,
  readsInput,
  watchOptions,
} from './kit.ts';

type Look = Awaited<ReturnType<Activities['lookAround']>>;

const steps = proxyActivities<Pick<Activities, 'lookAround'>>(watchOptions);

/** Events of a run before it continues as new. */
const eventsPerRun = 1_000;
/** After a look that failed for long. */
const nextTryMs = 300_000;

/**
 * Checks every few minutes what has become late, stale, starved, held, drifted or refused in an organization, sends notices
 * (webhooks.md), and reads targets back. Ends when there is nothing left to watch.
 */
export async function watchOrganization(given: WatchInput): Promise<void> {
  const input = readInput(readWatchInput, given);
  followFailover(input);
  const { org, carried } = input;
  const since = carried?.since ?? workflowInfo().startTime.getTime();
  let absent: readonly NoticeType[] = carried?.absent ?? [];
  let woken = false;
  onSignal(lookSignal, noInput, {
    take: () => {
      woken = true;
    },
    ignored: () => {},
    description: 'Look at once: the configuration may have changed.',
  });
  for (;;) {
    woken = false;
    const look = await lookAround(org, since, absent);
    if (look === 'over') return;
    absent = look?.absent ?? absent;
    const next = Date.now() + (look?.nextMs ?? nextTryMs);
    if (look !== null) show(org, look, next);
    await condition(() => woken, next - Date.now(), { summary: `look again at ${clockTime(next)}` });
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    if (continueAsNewSuggested || historyLength >= eventsPerRun) break;
  }
  await makeContinueAsNewFunc<typeof watchOrganization>()(nextInput({ ...input, carried: { since, absent } }));
}
defineWorkflowOptions(watchOrganization, readsInput);

/** Null when it failed for long; the next look may succeed. */
async function lookAround(org: string, since: number, absent: readonly NoticeType[]): Promise<Look | 'over' | null> {
  try {
    return await steps.lookAround.executeWithOptions({ ...watchOptions, summary: `look around in ${org}` }, [
      { org, since, absent },
    ]);
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('the watch could not look', { org, failure: failureSummary(error) });
    return failureType(error) === 'InvalidInput' ? 'over' : null;
  }
}

function show(org: string, { holding, count }: Look, next: number): void {
  const more = count - holding.length;
  const facts: [string, string][] = [
    ['looked at', clockTime(Date.now())],
    ['looks again at', clockTime(next)],
    ['holds now', count === 0 ? 'nothing that people are told of' : `${count}`],
    ...holding.map((what): [string, string] => ['', what]),
    ...(more > 0 ? [['', `and ${more} more`] as [string, string]] : []),
  ];
  setCurrentDetails(`**Watch of ${org}**\n\n${factsTable(facts)}`);
}
