/**
 * How quickly another worker takes over from a dead one: `fast` within 10 s, where Temporal is near; `tolerant` within
 * 60 s, which tolerates garbage collections, slow networks and busy machines (operations.md).
 */
export const failovers = ['fast', 'tolerant'] as const;
export type Failover = (typeof failovers)[number];

/** Work of workflows and short steps, and long and heavy steps: each has a task queue. */
export const workKinds = ['short', 'bulk'] as const;
export type WorkKind = (typeof workKinds)[number];

/** Part of the input of workflows, so that workers, schedules and commands agree. */
export interface WithFailover {
  /** Absent: `fast`. */
  failover?: Failover;
}

interface FailoverTimes {
  /** A dead worker's workflow task moves on after this, so every workflow must replay well within it; null: the server's. */
  workflowTaskTimeoutMs: number | null;
  heartbeats: Record<WorkKind, HeartbeatTimes>;
  /** A worker that keeps a workflow in memory must take its next task within this, else any worker may. */
  stickyTimeoutMs: number;
}

interface HeartbeatTimes {
  /** A running step without a sign of life for so long runs again elsewhere. */
  timeoutMs: number;
  /** Heartbeats in between are not sent. */
  everyMs: number;
}

const times: Record<Failover, FailoverTimes> = {
  fast: {
    workflowTaskTimeoutMs: 2_000,
    heartbeats: {
      short: { timeoutMs: 3_000, everyMs: 2_000 },
      // Hundreds of downloads may run at a time, and Temporal writes each heartbeat to its database.
      bulk: { timeoutMs: 6_000, everyMs: 4_000 },
    },
    stickyTimeoutMs: 1_000,
  },
  tolerant: {
    workflowTaskTimeoutMs: null,
    heartbeats: {
      short: { timeoutMs: 30_000, everyMs: 10_000 },
      bulk: { timeoutMs: 30_000, everyMs: 10_000 },
    },
    // A thousand exports that start at once keep a worker busy for longer than the usual ten seconds.
    stickyTimeoutMs: 30_000,
  },
};

/** Temporal's own workflow task time-out, unless its operator sets another. */
const serversTaskTimeoutMs = 10_000;

export const failoverTimes = (failover: Failover): FailoverTimes => times[failover];

/** The failover in a workflow's input; a malformed value counts as absent. */
export const failoverIn = ({ failover }: WithFailover): Failover => (failover === 'tolerant' ? 'tolerant' : 'fast');

/** The option of a start that has the workflow follow the failover. */
export function taskTimeoutFor(failover: Failover): { workflowTaskTimeout?: number } {
  const { workflowTaskTimeoutMs } = failoverTimes(failover);
  return workflowTaskTimeoutMs === null ? {} : { workflowTaskTimeout: workflowTaskTimeoutMs };
}

/**
 * Like `taskTimeoutFor`, of a continue-as-new, which inherits the run's own unless told: the failover may have changed.
 */
export function nextTaskTimeout(failover: Failover, currentMs: number): { workflowTaskTimeout?: number } {
  if (failover === 'fast') return taskTimeoutFor('fast');
  return currentMs < serversTaskTimeoutMs ? { workflowTaskTimeout: serversTaskTimeoutMs } : {};
}

/** The task queue of long and heavy steps, beside that of workflows and short steps. */
export const bulkQueueOf = (taskQueue: string): string => `${taskQueue}-bulk`;

/** The task queue of checks, which wait for readers to get a version: part of bulk work, with slots of their own. */
export const checksQueueOf = (taskQueue: string): string => `${taskQueue}-checks`;

/** The task queue of the heavy steps that a person waits for: of rollbacks, and of what a person has decided. */
export const urgentQueueOf = (taskQueue: string): string => `${taskQueue}-urgent`;

/** Where tasks wait for workers, Temporal hands out those of a lower number first. */
const priorityKeys = { urgent: 1, onDemand: 2, scheduled: 3 } as const;
type Urgency = keyof typeof priorityKeys;

/** The option of a start, which its steps inherit: what matters goes first, and within it organizations take turns. */
export function priorityOf(urgency: Urgency, org: string): { priority: { priorityKey: number; fairnessKey: string } } {
  return { priority: { priorityKey: priorityKeys[urgency], fairnessKey: org } };
}

/** The first server that allows update-with-start, which budgets need, without a setting: major and minor version. */
export const oldestServer = [1, 28] as const;

/** Days that closed workflows stay in a namespace made by docferry (contracts.md). */
export const retentionDays = 30;
