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
    log.warn('the row of the run is written later', { failure: failureSummary(failure) });
    try {
      await startChild<typeof recordRun>(workflowTypes.recordRun, {
        workflowId: recordWorkflowId(org, domain, runId),
        ...taskTimeoutFor(runFailover()),
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

const records = proxyActivities<Pick<Activities, 'recordAuditEntry'>>(lateRecordOptions);

/** How long a run waits at its end for a row to be written: an event that crosses its end would cost it another task. */
const writtenWithin = '5s';

/**
 * Hands what a person did to the audit: a separate workflow writes the row, so that neither the audit entry nor the caller's
 * run waits for the database. Never throws. A run neither ends nor continues as new before it resolves, which takes a
 * few seconds while the database is down.
 */
export async function writeAuditEntry(entry: AuditEntry & { org: string }): Promise<void> {
  const { org, subject, action, workflowId } = entry;
  try {
    // Even if the run is being cancelled: the audit entry is done. The id of an update may be too long for that of a workflow.
    await CancellationScope.nonCancellable(async () => {
      const recording = await startChild<typeof recordAuditEntry>(workflowTypes.recordAuditEntry, {
        workflowId: auditWorkflowId(org, uuid4()),
        ...taskTimeoutFor(runFailover()),
        staticSummary: `audit: ${action} of ${subject ?? org}`,
        typedSearchAttributes: attributesOf({ org, ...(subject !== null && { domain: subject }) }),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
        args: [entry],
      });
      let over = false;
      const end = () => {
        over = true;
      };
      void recording.result().then(end, end);
      await condition(() => over, writtenWithin, { summary: 'the audit writes it down' });
    });
  } catch (error) {
    log.error('an audit entry could not be handed to the audit', {
      action,
      workflowId,
      failure: failureSummary(error),
    });
  }
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
