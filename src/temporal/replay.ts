import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Client, type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { IllegalStateError } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { searchAttributes } from '../rules/workflow-ids.ts';

/** What a build makes of one recorded history. */
export interface ReplayedRun {
  type: string;
  workflowId: string;
  runId: string;
  /** Only what runs still would stop; what has ended matters for resets and queries. */
  running: boolean;
  /** Why it does not replay, in a few words; null when it does. */
  problem: string | null;
}

interface ReplayOptions {
  /** Runs that run still or have ended since, in milliseconds since 1970. */
  since: number;
  /** Which workflow ids; by default all. */
  matches?: (workflowId: string) => boolean;
  onReplayed?: (run: ReplayedRun) => void;
  /** Ends the replay at the next history. */
  signal?: AbortSignal;
  /** Bundle of the workflows' code; that of this build by default. */
  workflowBundle?: NonNullable<WorkerOptions['workflowBundle']>;
}

/** Histories fetched at a time, and so in memory. */
const fetchedAtOnce = 5;
const longestProblem = 300;
/** The workflow bundle that the build writes to the root of `dist`. */
const builtBundle = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));

/**
 * Replays docferry's workflows of the namespace, running and ended, with the workflows of this build. Nothing is changed,
 * in Temporal or elsewhere. Failures of single histories are results; throws what Temporal's client throws.
 */
export async function replayNamespace(client: Client, options: ReplayOptions): Promise<ReplayedRun[]> {
  quietRuntime();
  const listed = new Map<string, Pick<ReplayedRun, 'type' | 'running'>>();
  const replayed: ReplayedRun[] = [];
  const workflowBundle = options.workflowBundle ?? bundleOfBuild();
  const histories = historiesOf(client, options, ({ type, runId, status }) =>
    listed.set(runId, { type, running: status.name === 'RUNNING' }),
  );
  for await (const { workflowId, runId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
    const { type, running } = listed.get(runId) ?? { type: 'unknown', running: false };
    const run = { type, workflowId, runId, running, problem: error ? problemText(error) : null };
    replayed.push(run);
    options.onReplayed?.(run);
  }
  return replayed;
}

/** Running workflows first: the server lists ended ones after them. */
async function* historiesOf(
  client: Client,
  { since, matches = () => true, signal }: ReplayOptions,
  onListed: (run: WorkflowExecutionInfo) => void,
): AsyncGenerator<{ workflowId: string; history: History }> {
  const date = new Date(since).toISOString();
  const query = `${searchAttributes.org} IS NOT NULL AND (ExecutionStatus = "Running" OR CloseTime >= "${date}")`;
  let batch: WorkflowExecutionInfo[] = [];
  for await (const run of client.workflow.list({ query })) {
    if (signal?.aborted) return;
    if (!matches(run.workflowId)) continue;
    batch.push(run);
    onListed(run);
    if (batch.length < fetchedAtOnce) continue;
    yield* await fetched(client, batch);
    batch = [];
  }
  yield* await fetched(client, batch);
}

/** Without those that the server has deleted meanwhile. */
async function fetched(client: Client, runs: readonly WorkflowExecutionInfo[]) {
  const histories = await Promise.all(
    runs.map(async ({ workflowId, runId }) => {
      try {
        return { workflowId, history: await client.workflow.getHandle(workflowId, runId).fetchHistory() };
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    }),
  );
  return histories.filter((history) => history !== null);
}

function problemText({ message }: Error): string {
  const [first = ''] = message.split('\n');
  return first.replace(/^.*Nondeterminism error: /, '').slice(0, longestProblem);
}

function bundleOfBuild(): { codePath: string } {
  if (!existsSync(builtBundle)) throw new Error('the bundle of workflows is missing: run `npm run build`');
  return { codePath: builtBundle };
}

/** Results report the replays; the SDK's own log lines about them would drown everything else. */
function quietRuntime(): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => {}),
      telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
      shutdownSignals: [],
    });
  } catch (error) {
    // A worker of this process has installed its own.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
