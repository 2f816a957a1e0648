import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { retryKey } from '../budget/client.ts';
import {
  approveUpdate,
  attributesOf,
  exportStateQuery,
  phaseSignal,
  pollNowUpdate,
  rejectUpdate,
  type Workflows,
} from '../contract.ts';
import {
  type ExportInput,
  type ExportPhase,
  type ExportState,
  type RollbackInput,
  sameParameters,
  searchedPhase,
} from '../exports/rules/site-export.ts';
import { ExplainedError } from '../rules/errors.ts';
import { counted } from '../rules/text.ts';
import { exportWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import type { Actor } from '../runs/rules/audit.ts';
import type { Retry } from '../temporal/connection.ts';
import { decodedValue } from '../temporal/encryption.ts';
import { failoverIn, priorityOf, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { startUnlessRunning } from '../temporal/runs.ts';
import type { Installation } from './installation.ts';
import type { Started } from './syncs.ts';

type BundleNow = Partial<Pick<ExportState, 'phase' | 'download'>>;

/** Phase and progress of a bundle by the latest heartbeat, at most a few seconds old; empty when nothing is known. */
async function bundleNow(client: Client, handle: WorkflowHandle): Promise<BundleNow> {
  const { raw } = await handle.describe();
  for (const { activityType, heartbeatDetails, lastHeartbeatTime, paused } of raw.pendingActivities ?? []) {
    if (activityType?.name !== 'fetchBundle') continue;
    const details = await decodedValue(client, heartbeatDetails?.payloads);
    const now = readDetails(details, optionalTsToMs(lastHeartbeatTime) ?? Date.now());
    // Its last rate would promise an end.
    return paused && now.download ? { ...now, download: { ...now.download, bytesPerSecond: null } } : now;
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

/** These retries, and the start that the workflow itself repeats. */
export function withFailedStart(retries: readonly Retry[], state: ExportState | null): Retry[] {
  const start = state?.failedStart;
  return start ? [...retries, { activity: 'startJob', ...start, paused: false }] : [...retries];
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

/** An export of the domain is running, and this request cannot join it (E1). */
export class ExportRunning extends ExplainedError {
  override readonly name = 'ExportRunning';
  readonly code = 'ExportRunning';
  override readonly hint = 'wait for its end, or cancel it with `docferry export cancel`';
}

/** How long to wait for a worker's answer about a running workflow; absent: Temporal's own limit. */
type AskWorker = <Answer>(ask: () => Promise<Answer>) => Promise<Answer>;

/**
 * Starts the export of a site. If one with the same parameters is running, joins it or refuses, as asked; if its
 * parameters differ, refuses. Throws `ExportRunning`, and what `askWorker` throws: only a running one is asked.
 */
export async function startExport(
  client: Client,
  taskQueue: string,
  input: ExportInput,
  onRunning: 'join' | 'refuse',
  askWorker: AskWorker = (ask) => ask(),
): Promise<Started<ExportHandle>> {
  const workflowId = exportWorkflowId(input.org, input.domain);
  const started = await startUnlessRunning(client, workflowId, () =>
    client.workflow.start<Workflows['exportSite']>(workflowTypes.exportSite, {
      workflowId,
      taskQueue,
      workflowIdConflictPolicy: 'FAIL',
      ...taskTimeoutFor(failoverIn(input)),
      ...priorityOf('onDemand', input.org),
      args: [input],
      staticSummary: `export of ${input.domain} (${input.org})`,
      typedSearchAttributes: attributesOf({ org: input.org, domain: input.domain, phase: searchedPhase.starting }),
    }),
  );
  if (started !== null) return { handle: started, joined: false, runId: started.firstExecutionRunId };
  const handle = exportHandle(client, input.org, input.domain);
  if (onRunning === 'refuse') throw new ExportRunning(`an export of ${input.domain} is already running`);
  const running = await askWorker(() => handle.query(exportStateQuery));
  if (!sameParameters(running.parameters, input.parameters)) {
    throw new ExportRunning(
      `an export of ${input.domain} with other parameters (${describeParameters(running)}) is already running`,
    );
  }
  // Its wait for a working key ends now: the operator may have put one in place.
  if (running.unauthorized !== null) await retryKey(client, input.org);
  return { handle, joined: true, runId: null };
}

function describeParameters({ parameters }: ExportState): string {
  const { siteVersion, paths, promote, force, rollback } = parameters;
  const parts = [
    siteVersion === undefined ? '' : `site version ${siteVersion}`,
    paths === undefined || paths.length === 0 ? '' : counted(paths.length, 'path'),
    promote ? 'promote' : '',
    force ? 'force' : '',
    rollback === undefined ? '' : `rollback to ${rollback}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'none given' : parts.join(', ');
}

type RollbackHandle = WorkflowHandle<Workflows['rollBack']>;

export interface StartedRollback {
  handle: RollbackHandle;
  /** The same rollback was already running. */
  joined: boolean;
  /** An export was running, and was cancelled. */
  cancelled: boolean;
}

/** A schedule may start the next export at the moment one ends. */
const tries = 5;

interface RollbackStart {
  onRunning: 'cancel' | 'refuse';
  /** Throws to leave a running export alone. */
  beforeCancel: () => Promise<void>;
  askWorker?: AskWorker;
}

/**
 * Starts a rollback under the id of the site's exports, or joins the same rollback. A running export is cancelled and
 * waited for, or a reason to refuse, as asked; always to refuse if it is about to put this version into service. Throws
 * `ExportRunning`, and what `beforeCancel` and `askWorker` throw.
 */
export async function startRollback(
  client: Client,
  taskQueue: string,
  input: RollbackInput,
  { onRunning, beforeCancel, askWorker = (ask) => ask() }: RollbackStart,
): Promise<StartedRollback> {
  const { org, domain, version } = input;
  const workflowId = exportWorkflowId(org, domain);
  for (let left = tries, cancelled = false; ; left -= 1) {
    try {
      const handle = await client.workflow.start<Workflows['rollBack']>(workflowTypes.rollBack, {
        workflowId,
        taskQueue,
        workflowIdConflictPolicy: 'FAIL',
        ...taskTimeoutFor(failoverIn(input)),
        ...priorityOf('urgent', org),
        args: [input],
        staticSummary: `rollback of ${domain} to ${version} (${org})`,
        typedSearchAttributes: attributesOf({ org, domain, phase: 'rolling-out' }),
      });
      return { handle, joined: false, cancelled };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const latest = client.workflow.getHandle<Workflows['rollBack']>(workflowId);
    const { status, runId } = await latest.describe();
    // It has ended meanwhile: the next that its schedule starts is looked at like this one, not cancelled unseen.
    if (status.name !== 'RUNNING') continue;
    const running = client.workflow.getHandle<Workflows['rollBack']>(workflowId, runId);
    const state = await askWorker(() => running.query(exportStateQuery));
    if (state.parameters.rollback === version) return { handle: latest, joined: true, cancelled };
    if (onRunning === 'refuse' || left <= 1) {
      throw new ExportRunning(`an export of ${domain} is already running (${describeParameters(state)})`);
    }
    if (state.approval?.version === version) {
      throw new ExportRunning(`${version} is not in service yet: it waits for approval`);
    }
    if (!cancelled) await beforeCancel();
    cancelled = (await cancelAndWait(running)) || cancelled;
  }
}

/** Returns, after the clean-up, whether there was something to cancel. */
async function cancelAndWait(handle: RollbackHandle): Promise<boolean> {
  try {
    await handle.cancel();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
  // Its outcome does not matter here.
  await handle.result().catch(() => {});
  return true;
}
