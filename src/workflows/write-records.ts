import type { WithWorkflowArgs, Workflow } from '@temporalio/common';
import {
  type ActivityOptions,
  CancellationScope,
  ChildWorkflowCancellationType,
  type ChildWorkflowOptions,
  defineWorkflowOptions,
  log,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  startChild,
  uuid4,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { attributesOf } from '../contract.ts';
import { readRunRow } from '../exports/rules/export-messages.ts';
import { factsTable } from '../rules/text.ts';
import { auditWorkflowId, recordWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import type { AuditEntry } from '../runs/rules/audit.ts';
import { readAuditEntry } from '../runs/rules/run-messages.ts';
import { taskTimeoutFor } from '../temporal/rules/failover.ts';
import {
  failureSummary,
  lateRecordOptions,
  type RunRow,
  readInput,
  readsInput,
  recordRow,
  runFailover,
} from './kit.ts';

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
    await writeLater<typeof recordRun>(failure, workflowTypes.recordRun, {
      workflowId: recordWorkflowId(org, domain, runId),
      staticSummary: `row of the run of ${domain} (${org})`,
      typedSearchAttributes: attributesOf({ org, domain }),
      args: [row],
    });
  }
}

/** Starts the workflow that writes a row once the database is back, and outlives this run. */
async function writeLater<W extends Workflow>(
  failure: unknown,
  type: string,
  options: WithWorkflowArgs<W, ChildWorkflowOptions>,
): Promise<void> {
  const { workflowId } = options;
  log.warn('the row is written later', { workflowId, failure: failureSummary(failure) });
  try {
    await startChild<W>(type, {
      ...taskTimeoutFor(runFailover()),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      ...options,
    });
  } catch (problem) {
    log.error('the row could not be written', { workflowId, failure: failureSummary(problem) });
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

const records = proxyActivities<Pick<Activities, 'recordAuditEntry'>>(lateRecordOptions);

/** A decision's run waits no longer for the database. */
const briefly = {
  ...lateRecordOptions,
  startToCloseTimeout: '5s',
  scheduleToCloseTimeout: '10s',
  retry: { initialInterval: '500ms' },
} satisfies ActivityOptions;

/**
 * Writes what a person did to the audit. Never throws: while the database is down, `recordAuditEntry` writes it later. A
 * run neither ends nor continues as new before it resolves, which takes ten seconds at most.
 */
export async function writeAuditEntry(entry: AuditEntry & { org: string }): Promise<void> {
  const { org, subject, action } = entry;
  const summary = `keep in the audit: ${action}`;
  // Even if the run is being cancelled: the audit entry is done.
  await CancellationScope.nonCancellable(async () => {
    try {
      await records.recordAuditEntry.executeWithOptions({ ...briefly, summary }, [entry]);
    } catch (failure) {
      // The id of an update may be too long for that of a workflow.
      await writeLater<typeof recordAuditEntry>(failure, workflowTypes.recordAuditEntry, {
        workflowId: auditWorkflowId(org, uuid4()),
        staticSummary: `audit: ${action} of ${subject ?? org}`,
        typedSearchAttributes: attributesOf({ org, ...(subject !== null && { domain: subject }) }),
        args: [entry],
      });
    }
  });
}

/** Writes the row of an audit entry, and gives up after a day. */
export async function recordAuditEntry(given: AuditEntry): Promise<void> {
  const entry = readInput(readAuditEntry, given) as AuditEntry;
  const { action, org, subject, who, at, workflowId } = entry;
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
  await records.recordAuditEntry.executeWithOptions({ ...lateRecordOptions, summary: `keep in the audit: ${action}` }, [
    entry,
  ]);
  show('written');
}
defineWorkflowOptions(recordAuditEntry, readsInput);
