import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { ExportState, RollbackInput } from '../exports/rules/site-export.ts';
import { handoverIn, taskTimeoutFor } from '../temporal/rules/failover.ts';
import { exportWorkflowId, workflowTypes } from '../rules/workflow-ids.ts';
import { exportStateQuery } from '../definitions.ts';
import type { rollBack } from '../workflows/roll-back.ts';
import { attributesOf } from '../search-attributes.ts';
import { describeParameters, ExportRunning } from './exports.ts';

export type RollbackHandle = WorkflowHandle<typeof rollBack>;

export interface StartedRollback {
  handle: RollbackHandle;
  /** The same rollback was already running. */
  joined: boolean;
  /** An export was running, and was cancelled. */
  cancelled: boolean;
}

/** A schedule may start the next export at the moment one ends. */
const tries = 5;

export interface RollbackStart {
  onRunning: 'cancel' | 'refuse';
  /** Throws to leave a running export alone. */
  beforeCancel: () => Promise<void>;
  /** Limits how long a worker is asked for the state of the running workflow; Temporal's own limit when absent. */
  askWorker?: <Answer>(ask: () => Promise<Answer>) => Promise<Answer>;
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
      const handle = await client.workflow.start<typeof rollBack>(workflowTypes.rollBack, {
        workflowId,
        taskQueue,
        workflowIdConflictPolicy: 'FAIL',
        ...taskTimeoutFor(handoverIn(input)),
        args: [input],
        staticSummary: `rollback of ${domain} to ${version} (${org})`,
        typedSearchAttributes: attributesOf({ org, domain, phase: 'rolling-out' }),
      });
      return { handle, joined: false, cancelled };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const running = client.workflow.getHandle<typeof rollBack>(workflowId);
    const state = await askWorker(() => stateOf(running));
    if (state?.parameters.rollback === version) return { handle: running, joined: true, cancelled };
    if (state !== null && (onRunning === 'refuse' || left <= 1)) {
      throw new ExportRunning(`an export of ${domain} is already running (${describeParameters(state)})`);
    }
    if (state?.approval?.version === version) {
      throw new ExportRunning(`${version} is not in service yet: it waits for approval`);
    }
    if (state !== null && !cancelled) await beforeCancel();
    cancelled = (await cancelAndWait(running)) || cancelled;
  }
}

/** Null after its end. */
async function stateOf(handle: RollbackHandle): Promise<ExportState | null> {
  const { status } = await handle.describe();
  return status.name === 'RUNNING' ? handle.query(exportStateQuery) : null;
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
