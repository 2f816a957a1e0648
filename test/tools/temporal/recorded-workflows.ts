import { resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { plantedMarkers } from '../../../sandbox/index.ts';

type History = Parameters<typeof historyToJSON>[0];

/** A workflow's run as Temporal has it. */
export interface Recorded {
  workflowId: string;
  history: History;
  /** The history with its payloads decoded, memo and attributes. */
  text: string;
  /** How many events of each type. */
  events: Map<string, number>;
  /** Steps that were started more than once. */
  retriedActivities: number;
}

/** The history of every run in the namespace. */
export async function recordedWorkflows(client: Client): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  for await (const { workflowId, runId, memo, typedSearchAttributes } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const json = historyToJSON(history);
    // Payloads stand in the JSON as base64.
    const payloads = [...json.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) => Buffer.from(`${data}`, 'base64'));
    const events = new Map<string, number>();
    for (const [, type = ''] of json.matchAll(/"eventType":\s*"EVENT_TYPE_(\w+)"/g)) {
      events.set(type, (events.get(type) ?? 0) + 1);
    }
    const starts = (history.events ?? []).map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 0);
    recorded.push({
      workflowId,
      history,
      text: [json, ...payloads, JSON.stringify(memo ?? {}), JSON.stringify(typedSearchAttributes)].join('\n'),
      events,
      retriedActivities: starts.filter((attempt) => attempt > 1).length,
    });
  }
  return recorded;
}

/** Which of the secrets stand in one of the texts; personal data of the sandbox's feedback counts too. */
export function secretsIn(texts: readonly string[], secrets: readonly string[]): string[] {
  return [...secrets, ...plantedMarkers].filter((secret) => texts.some((text) => text.includes(secret)));
}

/** Workflows whose history the built code does not repeat, with the reason. */
export async function replayFailures(recorded: readonly Recorded[]): Promise<string[]> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const workflowBundle = { codePath: resolve('dist/workflow-bundle.js') };
  const histories = recorded.map(({ workflowId, history }) => ({ workflowId, history }));
  const failures: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
    if (error) failures.push(`${workflowId}: ${error.message}`);
  }
  return failures;
}
