import type { WorkflowHandle } from '@temporalio/client';

/** What the Temporal UI shows and filters of a run that has ended. */
export async function endOf(handle: WorkflowHandle): Promise<{ phase: unknown; outcome: unknown; details: string }> {
  const { DocferryPhase: phase, DocferryOutcome: outcome } = (await handle.describe()).searchAttributes;
  const { currentDetails = '' } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return { phase, outcome, details: currentDetails };
}
