import { proxyActivities, setCurrentDetails, setWorkflowOptions } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import type { KeyCheck } from '../model/budget/key-check.ts';
import { factsTable } from '../model/details-text.ts';
import { keyCheckOptions } from './activity-options.ts';
import { staysWithBuild } from './stays-with-build.ts';

const checks = proxyActivities<Pick<Activities, 'checkKey'>>(keyCheckOptions);

/** Has a worker ask the service, once, whether it accepts the organization's key as that worker has it. */
export async function checkKey({ org }: { org: string }): Promise<KeyCheck> {
  const check = await checks.checkKey.executeWithOptions(
    { ...keyCheckOptions, summary: `one request with the key of ${org}` },
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
setWorkflowOptions(staysWithBuild, checkKey);
