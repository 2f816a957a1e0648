import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

type History = Parameters<typeof historyToJSON>[0];

/** What Temporal recorded of the runs of one type. */
export interface FleetHistories {
  runs: number;
  completed: number;
  /** From the first start to the last end, in seconds, by the server's clock. */
  seconds: number;
  events: number;
  workflowTasks: number;
  timedOutTasks: number;
  failedTasks: number;
  /** What Temporal Cloud would bill, heartbeats and the budget's updates left out. */
  actions: number;
  activities: number;
}

/** Events that stand for one billable action each, as Temporal's pricing page lists them. */
const actions: ReadonlySet<string> = new Set([
  'WORKFLOW_EXECUTION_STARTED',
  'ACTIVITY_TASK_STARTED',
  'TIMER_STARTED',
  'WORKFLOW_EXECUTION_SIGNALED',
  'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
  'MARKER_RECORDED',
  'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
  'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
]);

const eventPattern = /"eventTime":\s*"([^"]+)",\s*"eventType":\s*"EVENT_TYPE_(\w+)"/g;

/** Reads the history of every run of a workflow type; from a moment on, if one is given. */
export async function fleetHistories(client: Client, workflowType: string, since?: Date): Promise<FleetHistories> {
  const began = since?.toISOString() ?? '';
  const then = since === undefined ? '' : ` AND (StartTime >= "${began}" OR ExecutionStatus = "Running")`;
  const query = `WorkflowType = "${workflowType}"${then}`;
  let [runs, completed, first, last] = [0, 0, Number.POSITIVE_INFINITY, 0];
  for await (const run of client.workflow.list({ query })) {
    runs += 1;
    if (run.status.name === 'COMPLETED') completed += 1;
    first = Math.min(first, run.startTime.getTime());
    last = Math.max(last, run.closeTime?.getTime() ?? 0);
  }
  const counts = new Map<string, number>();
  const listed = client.workflow.list({ query });
  for await (const { history } of listed.intoHistories({ concurrency: 5 })) {
    for (const [, at = '', type = ''] of historyToJSON(history as History).matchAll(eventPattern)) {
      if (at >= began) counts.set(type, (counts.get(type) ?? 0) + 1);
    }
  }
  const count = (type: string) => counts.get(type) ?? 0;
  const sum = (types: Iterable<string>) => [...types].reduce((total, type) => total + count(type), 0);
  return {
    runs,
    completed,
    seconds: (last - first) / 1_000,
    events: sum(counts.keys()),
    workflowTasks: count('WORKFLOW_TASK_STARTED'),
    timedOutTasks: count('WORKFLOW_TASK_TIMED_OUT'),
    failedTasks: count('WORKFLOW_TASK_FAILED'),
    actions: sum(actions),
    activities: count('ACTIVITY_TASK_STARTED'),
  };
}
