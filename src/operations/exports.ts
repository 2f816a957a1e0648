import type { Client, WorkflowHandle } from '@temporalio/client';
import { ExplainedError } from '../rules/explained-error.ts';
import {
  type ExportInput,
  type ExportPhase,
  type ExportState,
  sameParameters,
  searchedPhase,
} from '../exports/rules/site-export.ts';
import { handoverIn, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { exportWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { exportStateQuery, phaseSignal, pollNowUpdate } from '../definitions.ts';
import type { exportSite } from '../workflows/export-site.ts';
import { attributesOf } from '../search-attributes.ts';
import { bundleNow } from './bundle-now.ts';
import { startUnlessRunning } from '../temporal/start-unless-running.ts';

export type ExportHandle = WorkflowHandle<typeof exportSite>;

interface StartedExport {
  handle: ExportHandle;
  /** It was running already. */
  joined: boolean;
  /** Of the run that this has started; null when it has started none. */
  runId: string | null;
}

/** An export of the domain is running, and this request cannot join it (E1). */
export class ExportRunning extends ExplainedError {
  override readonly name = 'ExportRunning';
  readonly code = 'ExportRunning';
  readonly hint = 'wait for its end, or cancel it with `docferry export cancel`';
}

/**
 * Starts the export of a site. If one with the same parameters is running, joins it or refuses, as asked; if its
 * parameters differ, refuses. Throws `ExportRunning`.
 */
export async function startExport(
  client: Client,
  taskQueue: string,
  input: ExportInput,
  onRunning: 'join' | 'refuse',
): Promise<StartedExport> {
  const workflowId = exportWorkflowId(input.org, input.domain);
  const started = await startUnlessRunning(client, workflowId, () =>
    client.workflow.start<typeof exportSite>(workflowTypes.exportSite, {
      workflowId,
      taskQueue,
      workflowIdConflictPolicy: 'FAIL',
      ...taskTimeoutFor(handoverIn(input)),
      args: [input],
      staticSummary: `export of ${input.domain} (${input.org})`,
      typedSearchAttributes: attributesOf({ org: input.org, domain: input.domain, phase: searchedPhase.starting }),
    }),
  );
  if (started !== null) return { handle: started, joined: false, runId: started.firstExecutionRunId };
  const handle = exportHandle(client, input.org, input.domain);
  if (onRunning === 'refuse') throw new ExportRunning(`an export of ${input.domain} is already running`);
  const running = await handle.query(exportStateQuery);
  if (!sameParameters(running.parameters, input.parameters)) {
    throw new ExportRunning(
      `an export of ${input.domain} with other parameters (${describeParameters(running)}) is already running`,
    );
  }
  return { handle, joined: true, runId: null };
}

/** Handle of the latest export of a domain, which need not exist. */
export function exportHandle(client: Client, org: string, domain: string): ExportHandle {
  return client.workflow.getHandle<typeof exportSite>(exportWorkflowId(org, domain));
}

/** State of an export, with what the heartbeats of `fetchBundle` say of its bundle, which the workflow is not told. */
export async function exportState(client: Client, org: string, domain: string): Promise<ExportState> {
  const handle = exportHandle(client, org, domain);
  const state = await handle.query(exportStateQuery);
  // The activity signals a long verification, but not what follows it: publication or another attempt.
  if (state.phase !== 'fetching' && state.phase !== 'verifying') return state;
  return { ...state, ...(await bundleNow(client, handle)) };
}

/** Polls the job at once; refused when the export is not waiting for it. */
export async function pollNow(client: Client, org: string, domain: string): Promise<ExportState> {
  return exportHandle(client, org, domain).executeUpdate(pollNowUpdate);
}

export async function announcePhase(client: Client, workflowId: string, phase: ExportPhase): Promise<void> {
  await client.workflow.getHandle(workflowId).signal(phaseSignal, { phase });
}

/** The parameters in words. */
export function describeParameters({ parameters }: ExportState): string {
  const { siteVersion, paths, promote, force, rollback } = parameters;
  const parts = [
    siteVersion === undefined ? '' : `site version ${siteVersion}`,
    paths === undefined || paths.length === 0 ? '' : `${paths.length} paths`,
    promote ? 'promote' : '',
    force ? 'force' : '',
    rollback === undefined ? '' : `rollback to ${rollback}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'none given' : parts.join(', ');
}
