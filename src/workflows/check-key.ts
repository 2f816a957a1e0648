import { defineWorkflowOptions, proxyActivities, sleep } from '@temporalio/workflow';
import { z } from 'zod/mini';
import type { Activities } from '../activities/index.ts';
import type { KeyCheck } from '../budget/rules/permits.ts';
import { reader, text } from '../rules/messages.ts';
import { keyCheckOptions, pinnedVersioning, readInput, readsInput, showFacts } from './kit.ts';

const readCheck = reader(z.object({ org: text(), patient: z.exactOptional(z.boolean()) }));

const checks = proxyActivities<Pick<Activities, 'checkKey'>>(keyCheckOptions);

/** A worker asks the service once with the key it has. A patient check waits for a permit of the budget. */
export async function checkKey(given: { org: string; patient?: boolean }): Promise<KeyCheck> {
  const { org, patient = false } = readInput(readCheck, given);
  let check = await ask(org, patient);
  while (patient && check.outcome === 'no-permit') {
    await sleep(Math.max(1_000, check.until - Date.now()), { summary: 'the budget has no permit' });
    check = await ask(org, patient);
  }
  const detail = 'type' in check ? check.type : '';
  showFacts(`**Key of ${org}**`, [
    ['outcome', check.outcome],
    ['detail', detail],
  ]);
  return check;
}

const ask = (org: string, patient: boolean): Promise<KeyCheck> =>
  checks.checkKey.executeWithOptions({ ...keyCheckOptions, summary: `one request with the key of ${org}` }, [
    { org, ...(patient && { patient }) },
  ]);

defineWorkflowOptions(checkKey, { ...readsInput, workflowDefinitionOptions: pinnedVersioning });
