import {
  ApplicationFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  type ChildWorkflowHandle,
  defineWorkflowOptions,
  isCancellation,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import { attributesOf } from '../contract.ts';
import { type ExportResult, failedTargets, searchedPhase } from '../exports/rules/site-export.ts';
import { type ScheduleTarget, targetSummary, workflowIdOf } from '../rules/workflow-ids.ts';
import { readScheduledInput, type ScheduledInput, type ScheduledResult } from '../schedules/rules/starts.ts';
import { failoverIn, priorityOf, taskTimeoutFor } from '../temporal/rules/failover.ts';
import type { exportSite } from './export-site.ts';
import { innermost, readInput, readsInput, showFacts } from './kit.ts';

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

async function startExport(target: ScheduledInput): Promise<ChildWorkflowHandle<typeof exportSite>> {
  const { org, domain } = target;
  const failover = failoverIn(target);
  return startChild<typeof exportSite>('exportSite', {
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
