import type { WorkflowHandle } from '@temporalio/client';
import type {
  ExportInput,
  ExportResult,
  ExportState,
  RollbackInput,
  RollbackResult,
} from '../../../exports/rules/site-export.ts';
import { exportState } from '../../../operations/exports.ts';
import type { CommandContext } from '../../context.ts';
import { type CliFailure, type ExitCode, exitCodes } from '../../failure.ts';
import type { Session } from '../../session.ts';
import { exportStep } from '../../terminal/progress.ts';
import type { Interrupt } from '../../terminal/prompts.ts';
import { waitShowing } from '../../waiting.ts';
import { exportResultText, rollbackResultText } from './export-text.ts';

/** What runs under the id of a site's exports. */
export type AwaitedWorkflow = (input: ExportInput & RollbackInput) => Promise<ExportResult | RollbackResult>;

interface Awaited {
  org: string;
  domain: string;
  handle: WorkflowHandle<AwaitedWorkflow>;
  /** Null waits as long as it takes. */
  timeoutMs: number | null;
  /** From before the start. */
  interrupt?: Interrupt | undefined;
  /** A failure that ends the waiting while the export continues. */
  troubleOf?: (state: ExportState) => CliFailure | null;
}

/** Shows the progress of a site's export or rollback until it ends, then its result; returns the exit code. */
export async function waitForExport(
  { output }: CommandContext,
  session: Session,
  { org, domain, handle, timeoutMs, interrupt, troubleOf }: Awaited,
): Promise<ExitCode> {
  const result = await waitShowing(output, session, {
    handle,
    label: domain,
    readState: () => exportState(session.client, org, domain),
    stepOf: (state) => exportStep(state, Date.now(), output.paintNotes),
    ...(troubleOf && { troubleOf }),
    timeoutMs,
    interrupt,
    follow: `docferry export watch ${domain}`,
    cancel: `docferry export cancel ${domain}`,
  });
  const { paint } = output;
  output.result(result, 'previous' in result ? rollbackResultText(result, paint) : exportResultText(result, paint));
  // A failure too, though its result is printed.
  const failed = result.outcome === 'rejected' || result.outcome === 'rollout-failed';
  return failed ? exitCodes.failed : exitCodes.done;
}
