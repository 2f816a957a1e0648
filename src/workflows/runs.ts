import {
  ApplicationFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  type WithWorkflowArgs,
  type Workflow,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import {
  type ActivityOptions,
  CancellationScope,
  ChildWorkflowCancellationType,
  type ChildWorkflowHandle,
  type ChildWorkflowOptions,
  defineWorkflowOptions,
  isCancellation,
  log,
  ParentClosePolicy,
  patched,
  startChild,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { attributesOf, type Workflows } from '../contract.ts';
import { readRunRow } from '../exports/rules/export-messages.ts';
import { type ExportResult, failedTargets, searchedPhase } from '../exports/rules/site-export.ts';
import { clockTime } from '../rules/text.ts';
import {
  auditWorkflowId,
  recordWorkflowId,
  type ScheduleTarget,
  targetSummary,
  webhookWorkflowId,
  workflowIdOf,
  workflowTypes,
} from '../rules/workflow-ids.ts';
import { type AuditEntry, readAuditEntry } from '../runs/rules/audit.ts';
import { type LastLook, readLastLook, readWatchInput, type WatchInput } from '../runs/rules/notices.ts';
import {
  aboutEvent,
  readDelivery,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookReceipt,
} from '../runs/rules/webhook-event.ts';
import { readScheduledInput, type ScheduledInput, type ScheduledResult } from '../schedules/rules/desired-schedules.ts';
import { failoverIn, priorityOf, taskTimeoutFor } from '../temporal/rules/failover.ts';
import {
  deliveryOptions,
  failureSummary,
  followFailover,
  innermost,
  lateRecordOptions,
  type RunRow,
  readInput,
  readsInput,
  recordRow,
  runFailover,
  runStep,
  showFacts,
  watchOptions,
} from './kit.ts';

/** Starts a workflow that outlives this run, which does not wait for it; a failure is only logged. */
async function startBeside<W extends Workflow>(
  type: string,
  options: WithWorkflowArgs<W, ChildWorkflowOptions>,
  problem: string,
): Promise<void> {
  try {
    await startChild<W>(type, {
      ...taskTimeoutFor(runFailover()),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      ...options,
    });
  } catch (error) {
    log.error(problem, { workflowId: options.workflowId, failure: failureSummary(error) });
  }
}

/** Writes a run's row (X4), later while the database is down. Never throws. Call it in a scope not cancelled. */
export async function recordOrLater(ended: Omit<RunRow, 'workflowId' | 'runId' | 'finishedAt'>): Promise<void> {
  const { workflowId, runId } = workflowInfo();
  const { org, domain } = ended;
  const row = { workflowId, runId, finishedAt: new Date().toISOString(), ...ended };
  try {
    await recordRow(row);
  } catch (failure) {
    await writeLater<typeof recordRun>(failure, workflowTypes.recordRun, {
      // Replay compares the ids of children, and a reset gives the run another one.
      workflowId: recordWorkflowId(org, domain, patched('record-ids-are-drawn') ? uuid4() : runId),
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
  log.warn('the row is written later', { workflowId: options.workflowId, failure: failureSummary(failure) });
  await startBeside<W>(type, options, 'the row could not be written');
}

/** Writes the row of a run that ended while the database was away, and gives up after a day. */
export async function recordRun(given: RunRow): Promise<void> {
  const row = readInput(readRunRow, given);
  const { workflowId, runId, domain, org, outcome } = row;
  const show = (state: string) =>
    showFacts(`**Row of a run of ${domain}** (${org})`, [
      ['state', state],
      ['run', `${workflowId}, ${runId}`],
      ['outcome', outcome],
    ]);
  show('waits for the database');
  await runStep('recordExportRun', lateRecordOptions, `record the run: ${outcome}`, row);
  show('written');
}
defineWorkflowOptions(recordRun, readsInput);

/** A decision's run waits no longer for the database. */
const briefly = {
  ...lateRecordOptions,
  startToCloseTimeout: '5s',
  scheduleToCloseTimeout: '10s',
  retry: { ...lateRecordOptions.retry, initialInterval: '500ms' },
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
      await runStep('recordAuditEntry', briefly, summary, entry);
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
    showFacts(`**${action}** of ${subject ?? org}`, [
      ['state', state],
      ['by', who],
      ['at', at],
      ['reached', workflowId ?? '-'],
    ]);
  show('waits for the database');
  await runStep('recordAuditEntry', lateRecordOptions, `keep in the audit: ${action}`, entry);
  show('written');
}
defineWorkflowOptions(recordAuditEntry, readsInput);

/** Delivers one message to one receiver, independently of the run it is about, which does not wait (webhooks.md). */
export async function deliverWebhook(given: WebhookDelivery): Promise<WebhookReceipt> {
  const delivery = readInput(readDelivery, given);
  const { org, webhook, messageId, event } = delivery;
  const show = (more: [string, string][]) =>
    showFacts(`**${event.type}** to ${webhook} (${org})`, [
      ['about', aboutEvent(event)],
      ['message', messageId],
      ...more,
    ]);
  show([]);
  const receipt = await runStep('sendWebhook', deliveryOptions, `${event.type} to ${webhook}`, delivery);
  show([['accepted', `with ${receipt.status}, attempt ${receipt.attempts}`]]);
  return receipt;
}
defineWorkflowOptions(deliverWebhook, readsInput);

/** Starts a delivery for each webhook, which outlives this run: it neither waits for receivers nor fails. */
export async function announce(org: string, webhooks: readonly string[], event: WebhookEvent): Promise<void> {
  for (const webhook of webhooks) {
    const messageId = `msg_${uuid4()}`;
    const options = {
      workflowId: webhookWorkflowId(org, webhook, messageId),
      staticSummary: `${event.type} to ${webhook} (${org})`,
      typedSearchAttributes: attributesOf({ org }),
      args: [{ org, webhook, messageId, event }] as [WebhookDelivery],
    };
    const problem = `the delivery to the webhook ${webhook} could not be started`;
    // Even if the run is cancelled while its end is recorded: the event has happened.
    await CancellationScope.nonCancellable(() =>
      startBeside<typeof deliverWebhook>(workflowTypes.deliverWebhook, options, problem),
    );
  }
}

type Look = Awaited<ReturnType<Activities['lookAround']>>;

/**
 * Checks once what has become late, stale, starved, held, drifted or refused in an organization, sends notices (webhooks.md),
 * reads targets back, and leaves the rows of runs that ended without one. Its schedule starts it every few minutes, and hands it
 * what the check before returned.
 */
export async function watchOrganization(given: WatchInput): Promise<Look> {
  const input = readInput(readWatchInput, given);
  followFailover(input);
  const { org } = input;
  const { lastResult, startTime } = workflowInfo();
  const last: LastLook = readLastLook(lastResult) ?? { since: startTime.getTime(), absent: [], at: null };
  const summary = `look around in ${org}`;
  const look = await runStep('lookAround', watchOptions, summary, { org, last });
  const more = look.count - look.holding.length;
  const facts: [string, string][] = [
    ['looked at', clockTime(Date.now())],
    ['holds now', look.count === 0 ? 'nothing that people are told of' : `${look.count}`],
    ...look.holding.map((what): [string, string] => ['', what]),
    ...(more > 0 ? [['', `and ${more} more`] as [string, string]] : []),
  ];
  showFacts(`**Watch of ${org}**`, facts);
  return look;
}
defineWorkflowOptions(watchOrganization, readsInput);

type Ending = Pick<ScheduledResult, 'outcome' | 'detail'>;

/**
 * The workflow that the schedules of sites start. It starts the export under its fixed id and runs as long as that, so
 * that the schedule's overlap policy sees the work. If the target's workflow is running already, the run is
 * recorded as skipped. Cancelling this workflow cancels the work it started and waits for its clean-up; terminating it
 * leaves the work running.
 */
export async function runScheduled(given: ScheduledInput): Promise<ScheduledResult> {
  const target = readInput(readScheduledInput, given);
  const workflowId = workflowIdOf(target);
  let runId: string | null = null;
  const end = ({ outcome, detail }: Ending): ScheduledResult => {
    show(target, outcome, detail);
    return { workflowId, runId, outcome, detail };
  };
  try {
    const work = await startExport(target);
    runId = work.firstExecutionRunId;
    show(target, 'running', workflowId);
    return end(exportEnding(await work.result()));
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) {
      return end({ outcome: 'skipped', detail: 'it was already running' });
    }
    if (!isCancellation(error)) throw asOwnFailure(error);
    if (CancellationScope.current().consideredCancelled) throw error;
    return end({ outcome: 'cancelled', detail: 'it was cancelled' });
  }
}

defineWorkflowOptions(runScheduled, readsInput);

async function startExport(target: ScheduledInput): Promise<ChildWorkflowHandle<Workflows['exportSite']>> {
  const { org, domain } = target;
  const failover = failoverIn(target);
  return startChild<Workflows['exportSite']>('exportSite', {
    workflowId: workflowIdOf(target),
    ...taskTimeoutFor(failover),
    ...priorityOf('scheduled', org),
    staticSummary: targetSummary(target),
    parentClosePolicy: ParentClosePolicy.ABANDON,
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    typedSearchAttributes: attributesOf({ org, domain, phase: searchedPhase.starting }),
    args: [{ org, domain, parameters: {}, failover }],
  });
}

function exportEnding({ outcome, version, rollouts, reasons }: ExportResult): Ending {
  const failed = failedTargets(rollouts);
  const detail = [
    version ?? '',
    failed.length === 0 ? '' : `not rolled out to ${failed.join(', ')}`,
    reasons.length === 0 ? '' : reasons.map(({ rule }) => rule).join(', '),
  ].filter((part) => part !== '');
  return { outcome, detail: detail.join('; ').slice(0, 300) };
}

/** The original failure with its type, and all in between as its cause, so that `schedules list` shows it without opening the child. */
function asOwnFailure(error: unknown): unknown {
  if (!(error instanceof ChildWorkflowFailure)) return error;
  const cause = innermost(error);
  const own = (message: string, type: string | null | undefined) =>
    ApplicationFailure.create({ message, ...(type ? { type } : {}), nonRetryable: true, cause: error });
  if (cause instanceof ApplicationFailure) return own(cause.message, cause.type);
  if (cause instanceof TerminatedFailure) return own('it was terminated', 'Terminated');
  return error;
}

function show(target: ScheduleTarget, outcome: string, detail: string): void {
  showFacts(`**Scheduled ${targetSummary(target)}**`, [
    ['outcome', `**${outcome}**`],
    ['detail', detail],
    ['workflow', workflowIdOf(target)],
  ]);
}
