import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

/** A run, or the chain of runs that begins with it, to be saved under a name. */
export interface KeptRun {
  /** What happens in it, in a few words with hyphens. */
  label: string;
  workflowId: string;
  runId: string;
}

/** Of a chain that goes on and on, the first runs say everything. */
const mostRuns = 3;

/** Writes `<type>-<label>.json`, of a chain `<type>-<label>-<run>.json`, without what tells of this machine. */
export async function saveRuns(
  client: Client,
  { label, workflowId, runId }: KeptRun,
  folder: string,
  scratch: string,
): Promise<string[]> {
  const saved: { type: string; json: string }[] = [];
  for (let next: string | undefined = runId; next !== undefined && saved.length < mostRuns; ) {
    const history: History = await client.workflow.getHandle(workflowId, next).fetchHistory();
    const type = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? 'unknown';
    next = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
    saved.push({ type, json: withoutMachine(historyToJSON(withoutOpenTask(history)), scratch) });
  }
  const names: string[] = [];
  for (const [index, { type, json }] of saved.entries()) {
    const name = `${type}-${label}${saved.length > 1 ? `-${index + 1}` : ''}.json`;
    await writeFile(join(folder, name), `${json}\n`);
    names.push(name);
  }
  return names;
}

const completedTask = 7;

/** What came after the last completed workflow task of a running workflow has not been answered yet. */
function withoutOpenTask(history: History): History {
  const events = history.events ?? [];
  const open = events.at(-1)?.workflowTaskScheduledEventAttributes ?? events.at(-1)?.workflowTaskStartedEventAttributes;
  if (!open) return history;
  const last = events.findLastIndex(({ eventType }) => eventType === completedTask);
  const recorded = events.slice(last + 1).findIndex((event) => event.workflowTaskScheduledEventAttributes);
  return { ...history, events: events.slice(0, last + 1 + recorded) };
}

/** Replaces paths, host and process id, in payloads too. */
function withoutMachine(json: string, scratch: string): string {
  const paths = (text: string) => text.replaceAll(scratch, '/var/lib/docferry').replaceAll(process.cwd(), '/app');
  const inPayload = (data: string) => Buffer.from(paths(Buffer.from(data, 'base64').toString())).toString('base64');
  const own = `${process.pid}@${hostname()}`;
  return paths(json)
    .replaceAll(own, 'docferry')
    .replace(/("data": ")([^"]+)(")/g, (_all, before, data, after) => `${before}${inPayload(data)}${after}`);
}
