import {
  ChildWorkflowCancellationType,
  defineWorkflowOptions,
  log,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  startChild,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { factsTable } from '../rules/details-text.ts';
import { readRunRow } from '../exports/rules/export-messages.ts';
import { taskTimeoutFor } from '../temporal/rules/failover.ts';
import { recordWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { lateRecordOptions } from './activity-options.ts';
import { failureSummary } from './failure-summary.ts';
import { runHandover } from './handover.ts';
import { type RunRow, recordRow } from './passing-steps.ts';
import { readInput, readsInput } from './read-input.ts';
import { attributesOf } from '../search-attributes.ts';

const later = proxyActivities<Pick<Activities, 'recordExportRun'>>(lateRecordOptions);

/**
 * Writes the row of a run that has ended (X4). Never throws: while the database is down, `recordRun` writes it later,
 * so that exports and rollbacks need no database. Call it in a scope that is not cancelled.
 */
export async function recordOrLater(row: RunRow): Promise<void> {
  const { org, domain, runId } = row;
  try {
    await recordRow(row);
  } catch (failure) {
    log.warn('the row of the run is written later', { failure: failureSummary(failure) });
    try {
      await startChild<typeof recordRun>(workflowTypes.recordRun, {
        workflowId: recordWorkflowId(org, domain, runId),
        ...taskTimeoutFor(runHandover()),
        staticSummary: `row of the run of ${domain} (${org})`,
        typedSearchAttributes: attributesOf({ org, domain }),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
        args: [row],
      });
    } catch (problem) {
      log.error('the run could not be recorded', { failure: failureSummary(problem) });
    }
  }
}

/** Writes the row of a run that ended while the database was away, and gives up after a day. */
export async function recordRun(given: RunRow): Promise<void> {
  const row = readInput(readRunRow, given);
  const { workflowId, runId, domain, org, outcome } = row;
  const show = (state: string) =>
    setCurrentDetails(
      `**Row of a run of ${domain}** (${org})\n\n${factsTable([
        ['state', state],
        ['run', `${workflowId}, ${runId}`],
        ['outcome', outcome],
      ])}`,
    );
  show('waits for the database');
  await later.recordExportRun.executeWithOptions({ ...lateRecordOptions, summary: `record the run: ${outcome}` }, [
    row,
  ]);
  show('written');
}
defineWorkflowOptions(recordRun, readsInput);
