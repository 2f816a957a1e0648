import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time.js';
import { schedulePrefix, searchAttributes } from '../rules/workflow-ids.ts';
import { grpc, hasCode } from './connection.ts';
import { keysIn } from './encryption.ts';
import { priorityOf } from './rules/failover.ts';
import { callsAtOnce, inBatches } from './runs.ts';

const answerWithinMs = 10_000;
/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's interface. */
const keyword = 2;
const dayMs = 86_400_000;

/** Docferry's search attributes in a namespace. */
export interface SearchAttributeState {
  present: string[];
  missing: string[];
  /** Registered with another type than Keyword. */
  mistyped: string[];
}

/** Version of the server, e.g. `1.29.1`; empty when it does not say. */
export async function serverVersion(client: Client): Promise<string> {
  const { serverVersion: version } = await answering(client, () => client.workflowService.getSystemInfo({}));
  return version ?? '';
}

/** The client's namespace; null when the server does not know it. */
export async function describeNamespace(client: Client): Promise<{ retentionDays: number | null } | null> {
  try {
    const { namespace } = client.options;
    const { config } = await answering(client, () => client.workflowService.describeNamespace({ namespace }));
    const ms = optionalTsToMs(config?.workflowExecutionRetentionTtl);
    return { retentionDays: ms === undefined ? null : Math.round(ms / dayMs) };
  } catch (error) {
    if (hasCode(error, grpc.notFound)) return null;
    throw error;
  }
}

/** Creates the client's namespace, in which closed workflows stay for `retentionDays`. */
export async function createNamespace(client: Client, retentionDays: number): Promise<void> {
  const { namespace } = client.options;
  const workflowExecutionRetentionPeriod = msToTs(retentionDays * dayMs);
  await answering(client, () =>
    client.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod }),
  );
}

export async function searchAttributeState(client: Client): Promise<SearchAttributeState> {
  const { namespace } = client.options;
  const { customAttributes } = await answering(client, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  );
  const names = Object.values(searchAttributes);
  return {
    present: names.filter((name) => customAttributes[name] === keyword),
    missing: names.filter((name) => customAttributes[name] === undefined),
    mistyped: names.filter((name) => ![undefined, keyword].includes(customAttributes[name])),
  };
}

/** Running workflows whose histories are looked at, and the events of each: the oldest ones, which keep the oldest key. */
const [lookedAt, eventsEach] = [1_000, 100];

/** The keys that running workflows and schedules of the task queue are encrypted with. Decrypts nothing. */
export async function keysNeeded(client: Client, taskQueue: string): Promise<Set<string>> {
  const { namespace } = client.options;
  const runs: { workflowId: string; runId: string }[] = [];
  const query = `${searchAttributes.org} IS NOT NULL AND ExecutionStatus = 'Running'`;
  const { executions } = await client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: lookedAt });
  for (const { execution, taskQueue: queue } of executions ?? []) {
    const { workflowId, runId } = execution ?? {};
    // Another installation in the namespace has keys of its own.
    if (workflowId && runId && queue === taskQueue) runs.push({ workflowId, runId });
  }
  const histories = await inBatches(runs, callsAtOnce, (execution) =>
    client.workflowService.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: eventsEach }),
  );
  const schedules = await client.workflowService.listSchedules({
    namespace,
    query: `ScheduleId STARTS_WITH "${schedulePrefix(taskQueue)}"`,
    maximumPageSize: lookedAt,
  });
  const described = await inBatches(schedules.schedules ?? [], callsAtOnce, ({ scheduleId }) =>
    client.workflowService.describeSchedule({ namespace, scheduleId: scheduleId ?? '' }),
  );
  return keysIn([histories, described]);
}

/** The key with which a worker answers a query; `failed` when it cannot. Rejects when nobody answers. */
export async function writingKey(client: Client, workflowId: string): Promise<{ key: string | null; failed: boolean }> {
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  const [codec] = payloadCodecs;
  const asked = payloadConverter.toPayload({});
  const payloads = asked && codec ? await codec.encode([asked]) : [];
  try {
    const answer = await answering(client, () =>
      client.workflowService.queryWorkflow({
        namespace: client.options.namespace,
        execution: { workflowId },
        query: { queryType: 'state', queryArgs: { payloads } },
      }),
    );
    const [key = null] = keysIn(answer);
    return { key, failed: false };
  } catch (error) {
    // A worker has answered that it failed.
    if (hasCode(error, grpc.invalidArgument)) return { key: null, failed: true };
    throw error;
  }
}

/** `TASK_QUEUE_TYPE_WORKFLOW`. */
const workflowTasks = 1;
/** A busy server needs longer to count tasks. */
const [probes, probesOfCounting, nextProbeMs] = [20, 120, 250];

/**
 * Whether the server hands out tasks by priority: a task that nobody takes is counted under its priority or under the usual
 * one. Null when the server does not count. The run that asks for the task is deleted.
 */
export async function ordersByPriority(client: Client, taskQueue: string): Promise<boolean | null> {
  const { namespace } = client.options;
  const workflowId = `doctor:${randomUUID()}`;
  const name = `${taskQueue}-doctor`;
  const { priority } = priorityOf('urgent', '');
  const settings = { workflowId, taskQueue: name, workflowExecutionTimeout: '1m', priority } as const;
  const { firstExecutionRunId: runId } = await client.workflow.start('doctorProbe', settings);
  try {
    for (let [probe, most] = [0, probes]; probe < most; probe += 1) {
      const asked = { namespace, taskQueue: { name }, taskQueueType: workflowTasks, reportStats: true };
      const { stats, statsByPriorityKey } = await answering(client, () =>
        client.workflowService.describeTaskQueue(asked),
      );
      if (stats) most = probesOfCounting;
      const counted = Object.entries(statsByPriorityKey).filter(
        ([, stats]) => Number(stats.approximateBacklogCount) > 0,
      );
      if (counted.length > 0) return counted.some(([key]) => Number(key) === priority.priorityKey);
      await sleep(nextProbeMs);
    }
    return null;
  } finally {
    const workflowExecution = { workflowId, runId };
    const remove = () => client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    // Repeated after a lost answer, it finds nothing. A run that stays ends by itself.
    await answering(client, remove).catch(() => {});
  }
}

function answering<Answer>(client: Client, ask: () => Promise<Answer>): Promise<Answer> {
  return client.withDeadline(Date.now() + answerWithinMs, ask);
}
