import { defineWorkflowOptions, makeContinueAsNewFunc } from '@temporalio/workflow';
import { readApproval, readExportInput, readPhase, readRejection } from '../exports/rules/export-messages.ts';
import type { ExportInput, ExportResult } from '../exports/rules/site-export.ts';
import { handoverIn } from '../temporal/rules/failover.ts';
import {
  approveUpdate,
  exportStateQuery,
  phaseSignal,
  pollNowUpdate,
  rejectUpdate,
  retryKeySignal,
} from '../definitions.ts';
import { noInput, onDeed, onQuery, onSignal, onUpdate } from './handle-messages.ts';
import { followHandover } from './handover.ts';
import { nextInput, readInput, readsInput } from './read-input.ts';
import { staysWithBuild } from './stays-with-build.ts';
import { ExportRun } from './export-run.ts';

/** Exports one site: job, link, download, verification, publication, rollout (E1 to E6). */
export async function exportSite(given: ExportInput): Promise<ExportResult> {
  const input = readInput(readExportInput, given);
  followHandover(input);
  const run = new ExportRun(input);
  onQuery(exportStateQuery, () => run.state(), 'Phase, progress, next poll and rollouts.');
  const ignored = () => run.view.ignoredSignal();
  onSignal(phaseSignal, readPhase, {
    take: ({ phase }) => run.view.announce(phase),
    ignored,
    description: 'An activity entered a new phase.',
  });
  onUpdate(pollNowUpdate, noInput, {
    answer: () => {
      run.job.pollNow();
      return run.state();
    },
    check: () => run.job.requireWaiting(),
    description: 'Polls the job at once.',
  });
  onDeed(approveUpdate, readApproval, {
    answer: (_answer, sent) => run.approval.approve(sent),
    check: (answer) => run.approval.requireWaiting(answer),
    description: 'Makes the waiting version current.',
  });
  onDeed(rejectUpdate, readRejection, {
    answer: (answer, sent) => run.approval.reject(answer, sent),
    check: (answer) => run.approval.requireReason(answer),
    description: 'Removes the waiting version; the result gives {reason}.',
  });
  onSignal(retryKeySignal, noInput, {
    take: () => run.key.retry(),
    ignored,
    description: 'The key may have been changed: try it at once.',
  });
  const result = await run.run();
  if (result) return result;
  const { org, domain, parameters } = input;
  const { progress: carried, refused } = run;
  const next = { org, domain, parameters, handover: handoverIn(input), carried, ...(refused && { refused }) };
  return await makeContinueAsNewFunc<typeof exportSite>()(nextInput(next));
}
defineWorkflowOptions(exportSite, { ...readsInput, workflowDefinitionOptions: staysWithBuild });
