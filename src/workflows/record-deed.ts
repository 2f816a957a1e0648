import {
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  defineWorkflowOptions,
  log,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  startChild,
  uuid4,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { type Deed, readDeed } from '../runs/rules/audit.ts';
import { factsTable } from '../rules/details-text.ts';
import { taskTimeoutFor } from '../temporal/rules/failover.ts';
import { deedWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { lateRecordOptions } from './activity-options.ts';
import { failureSummary } from './failure-summary.ts';
import { runHandover } from './handover.ts';
import { readInput, readsInput } from './read-input.ts';
import { attributesOf } from '../search-attributes.ts';

const records = proxyActivities<Pick<Activities, 'recordDeed'>>(lateRecordOptions);

/** How long a run waits at its end for a row to be written: an event that crosses its end would cost it another task. */
const writtenWithin = '5s';

/**
 * Hands what a person did to the audit: a separate workflow writes the row, so that neither the deed nor the caller's
 * run waits for the database. Never throws. A run neither ends nor continues as new before it resolves, which takes a
 * few seconds while the database is down.
 */
export async function keepDeed(deed: Deed & { org: string }): Promise<void> {
  const { org, subject, action, workflowId } = deed;
  try {
    // Even if the run is being cancelled: the deed is done. The id of an update may be too long for that of a workflow.
    await CancellationScope.nonCancellable(async () => {
      const recording = await startChild<typeof recordDeed>(workflowTypes.recordDeed, {
        workflowId: deedWorkflowId(org, uuid4()),
        ...taskTimeoutFor(runHandover()),
        staticSummary: `audit: ${action} of ${subject ?? org}`,
        typedSearchAttributes: attributesOf({ org, ...(subject !== null && { domain: subject }) }),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
        args: [deed],
      });
      let over = false;
      const end = () => {
        over = true;
      };
      void recording.result().then(end, end);
      await condition(() => over, writtenWithin, { summary: 'the audit writes it down' });
    });
  } catch (error) {
    log.error('a deed could not be handed to the audit', { action, workflowId, failure: failureSummary(error) });
  }
}

/** Writes the row of a deed, and gives up after a day. */
export async function recordDeed(given: Deed): Promise<void> {
  const deed = readInput(readDeed, given) as Deed;
  const { action, org, subject, who, at, workflowId } = deed;
  const show = (state: string) =>
    setCurrentDetails(
      `**${action}** of ${subject ?? org}\n\n${factsTable([
        ['state', state],
        ['by', who],
        ['at', at],
        ['reached', workflowId ?? '-'],
      ])}`,
    );
  show('waits for the database');
  await records.recordDeed.executeWithOptions({ ...lateRecordOptions, summary: `keep in the audit: ${action}` }, [
    deed,
  ]);
  show('written');
}
defineWorkflowOptions(recordDeed, readsInput);
