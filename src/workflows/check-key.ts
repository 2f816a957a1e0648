import { type ActivityOptions, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import type { KeyCheck } from '../model/budget/key-check.ts';
import { factsTable } from '../model/details-text.ts';

/** One attempt: a second one could be a second request. */
const askOptions = {
  scheduleToStartTimeout: '30s',
  startToCloseTimeout: '90s',
  heartbeatTimeout: '10s',
  retry: { maximumAttempts: 1 },
} satisfies ActivityOptions;
const asks = proxyActivities<Pick<Activities, 'checkKey'>>(askOptions);

/** Lets a worker ask the service once whether it accepts the organization's key, the key that worker holds. */
export async function checkKey({ org }: { org: string }): Promise<KeyCheck> {
  const check = await asks.checkKey.executeWithOptions(
    { ...askOptions, summary: `one request with the key of ${org}` },
    [{ org }],
  );
  const detail = 'type' in check ? check.type : '';
  setCurrentDetails(
    `**Key of ${org}**\n\n${factsTable([
      ['outcome', check.outcome],
      ['detail', detail],
    ])}`,
  );
  return check;
}
