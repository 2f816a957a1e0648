import {
  type Client,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import {
  approveUpdate,
  exportStateQuery,
  phaseSignal,
  pollNowUpdate,
  rejectUpdate,
  type Workflows,
} from '../contract.ts';
import type { ExportPhase, ExportState } from '../exports/rules/site-export.ts';
import { exportWorkflowId } from '../rules/workflow-ids.ts';
import type { Actor } from '../runs/rules/audit.ts';
import { decodedValue } from '../temporal/encryption.ts';
import type { Installation } from './installation.ts';

type BundleNow = Partial<Pick<ExportState, 'phase' | 'download'>>;

/** Phase and progress of a bundle by the latest heartbeat, at most a few seconds old; empty when nothing is known. */
async function bundleNow(client: Client, handle: WorkflowHandle): Promise<BundleNow> {
  const { raw } = await handle.describe();
  for (const { activityType, heartbeatDetails, lastHeartbeatTime } of raw.pendingActivities ?? []) {
    if (activityType?.name !== 'fetchBundle') continue;
    const details = await decodedValue(client, heartbeatDetails?.payloads);
    return readDetails(details, optionalTsToMs(lastHeartbeatTime) ?? Date.now());
  }
  return {};
}

/** Another version of the activity may have written the details, so they are checked. */
function readDetails(details: unknown, at: number): BundleNow {
  if (typeof details !== 'object' || details === null) return {};
  const { phase, offset, total, bytesPerSecond }: Record<string, unknown> = { ...details };
  if (phase === 'verifying' || phase === 'publishing') return { phase };
  if (phase !== 'fetching') return {};
  const known = (value: unknown) => (typeof value === 'number' && value > 0 ? value : null);
  const bytes = known(offset);
  if (bytes === null) return { phase };
  return { phase, download: { offset: bytes, total: known(total), bytesPerSecond: known(bytesPerSecond), at } };
}

export type ExportHandle = WorkflowHandle<Workflows['exportSite']>;

/** Handle of the latest export of a domain, which need not exist. */
export function exportHandle(client: Client, org: string, domain: string): ExportHandle {
  return client.workflow.getHandle<Workflows['exportSite']>(exportWorkflowId(org, domain));
}

/** State of an export, with what the heartbeats of `fetchBundle` say of its bundle, which the workflow is not told. */
export async function exportState(client: Client, org: string, domain: string): Promise<ExportState> {
  const handle = exportHandle(client, org, domain);
  const state = await handle.query(exportStateQuery);
  // The activity signals a long verification, but not what follows it: publication or another attempt.
  if (state.phase !== 'fetching' && state.phase !== 'verifying') return state;
  return { ...state, ...(await bundleNow(client, handle)) };
}

/** What Temporal knows of a workflow, without asking a worker; null if it never ran or its retention is over. */
export async function describeWorkflow(handle: WorkflowHandle): Promise<WorkflowExecutionDescription | null> {
  try {
    return await handle.describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** The version that waits for approval; null when none does. */
export async function waitingVersion(
  installation: Installation,
  { org, domain }: { org: string; domain: string },
): Promise<string | null> {
  const client = await installation.temporal();
  const run = await describeWorkflow(exportHandle(client, org, domain));
  if (run?.status.name !== 'RUNNING') return null;
  const { approval } = await installation.ask(() => exportState(client, org, domain));
  return approval?.version ?? null;
}

/** Polls the job at once; refused when the export is not waiting for it. */
export async function pollNow(client: Client, org: string, domain: string): Promise<ExportState> {
  return exportHandle(client, org, domain).executeUpdate(pollNowUpdate);
}

export async function announcePhase(client: Client, workflowId: string, phase: ExportPhase): Promise<void> {
  await client.workflow.getHandle(workflowId).signal(phaseSignal, { phase });
}

/** Makes the waiting version current; refused if another or none waits. The same `updateId` gets the same answer. */
export async function approveExport(
  client: Client,
  { org, domain, version }: { org: string; domain: string; version: string },
  actor: Actor = {},
  updateId?: string,
): Promise<{ version: string }> {
  const args: [{ version: string }, Actor] = [{ version }, actor];
  return exportHandle(client, org, domain).executeUpdate(approveUpdate, { args, ...withId(updateId) });
}

/** Ends the export with this reason and removes the waiting version. Refused as an approval is. */
export async function rejectExport(
  client: Client,
  { org, domain, reason, version }: { org: string; domain: string; reason: string; version: string },
  actor: Actor = {},
  updateId?: string,
): Promise<{ version: string }> {
  const args: [{ version: string; reason: string }, Actor] = [{ version, reason }, actor];
  return exportHandle(client, org, domain).executeUpdate(rejectUpdate, { args, ...withId(updateId) });
}

const withId = (updateId: string | undefined) => (updateId === undefined ? {} : { updateId });
