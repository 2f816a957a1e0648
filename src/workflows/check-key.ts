import { defineWorkflowOptions, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import type { KeyCheck } from '../model/budget/key-check.ts';
import { factsTable } from '../model/details-text.ts';
import { record, text } from '../model/message-readers.ts';
import { keyCheckOptions } from './activity-options.ts';
import { readInput, readsInput } from './read-input.ts';
import { staysWithBuild } from './stays-with-build.ts';

const checks = proxyActivities<Pick<Activities, 'checkKey'>>(keyCheckOptions);

/** Has a worker ask the service, once, whether it accepts the organization's key as that worker has it. */
export async function checkKey(given: { org: string }): Promise<KeyCheck> {
  const { org } = readInput(record({ org: text }, {}), given);
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
defineWorkflowOptions(checkKey, { ...readsInput, workflowDefinitionOptions: staysWithBuild });
