import { defineWorkflowOptions, proxyActivities, setCurrentDetails, sleep } from '@temporalio/workflow';
import { z } from 'zod/mini';
import type { Activities } from '../activities/index.ts';
import type { KeyCheck } from '../budget/rules/permits.ts';
import { reader, text } from '../rules/messages.ts';
import { factsTable } from '../rules/text.ts';
import { keyCheckOptions, pinnedVersioning, readInput, readsInput } from './kit.ts';

const readCheck = reader(z.object({ org: text(), patient: z.exactOptional(z.boolean()) }));

const checks = proxyActivities<Pick<Activities, 'checkKey'>>(keyCheckOptions);

/**
 * Has a worker ask the service, once, whether it accepts the organization's key as that worker has it. A patient check
 * waits until the budget has a permit for it.
 */
export async function checkKey(given: { org: string; patient?: boolean }): Promise<KeyCheck> {
  const { org, patient = false } = readInput(readCheck, given);
  let check = await ask(org, patient);
  while (patient && check.outcome === 'no-permit') {
    await sleep(Math.max(1_000, check.until - Date.now()), { summary: 'the budget has no permit' });
    check = await ask(org, patient);
  }
  const detail = 'type' in check ? check.type : '';
  setCurrentDetails(
    `**Key of ${org}**\n\n${factsTable([
      ['outcome', check.outcome],
      ['detail', detail],
    ])}`,
  );
  return check;
}

const ask = (org: string, patient: boolean): Promise<KeyCheck> =>
  checks.checkKey.executeWithOptions({ ...keyCheckOptions, summary: `one request with the key of ${org}` }, [
    { org, ...(patient && { patient }) },
  ]);

defineWorkflowOptions(checkKey, { ...readsInput, workflowDefinitionOptions: pinnedVersioning });
