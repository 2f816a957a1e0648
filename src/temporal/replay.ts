import { availableParallelism } from 'node:os';
import {
  type Client,
  type WorkflowExecutionInfo,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { searchAttributes } from '../rules/workflow-ids.ts';
import { builtWorkflows } from './encryption.ts';

/** What a build makes of one recorded history. */
export interface ReplayedRun {
  type: string;
  workflowId: string;
  runId: string;
  /** Only running workflows would stop; ended ones matter for resets and queries. */
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
  signal?: AbortSignal;
  workflowBundle?: NonNullable<WorkerOptions['workflowBundle']>;
}

/** Histories fetched at a time, and so in memory. */
const fetchedAtOnce = 5;
/** Histories replayed at a time, each by a worker of its own. */
const replayedAtOnce = Math.min(4, availableParallelism());
const longestProblem = 300;

/**
 * Replays docferry's workflows of the namespace, running and ended, with the workflows of this build. Nothing is changed,
 * in Temporal or elsewhere. Failures of single histories are results; throws what Temporal's client throws.
 */
export async function replayNamespace(client: Client, options: ReplayOptions): Promise<ReplayedRun[]> {
  quietRuntime();
  const replayed: ReplayedRun[] = [];
  const replay = {
    workflowBundle: options.workflowBundle ?? builtWorkflows(),
    dataConverter: { payloadCodecs: client.options.loadedDataConverter.payloadCodecs },
  };
  const histories = historiesOf(client, options);
  const lane = async () => {
    let run: Listed['run'] | undefined;
    const own = async function* () {
      for (let next = await histories.next(); !next.done; next = await histories.next()) {
        run = next.value.run;
        yield next.value;
      }
    };
    // Results come one by one, in the order of the histories. Their run ids are those of the histories' first events, which
    // a reset run shares with the run it was made of.
    for await (const { error } of Worker.runReplayHistories(replay, own())) {
      if (run === undefined) continue;
      const result = { ...run, problem: error ? problemText(error) : null };
      replayed.push(result);
      options.onReplayed?.(result);
    }
  };
  await Promise.all(Array.from({ length: replayedAtOnce }, lane));
  return replayed;
}

interface Listed {
  run: Omit<ReplayedRun, 'problem'>;
  workflowId: string;
  history: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
}

/** Running workflows first: the server lists ended ones after them. */
async function* historiesOf(
  client: Client,
  { since, matches = () => true, signal }: ReplayOptions,
): AsyncGenerator<Listed, void, undefined> {
  const date = new Date(since).toISOString();
  const query = `${searchAttributes.org} IS NOT NULL AND (ExecutionStatus = "Running" OR CloseTime >= "${date}")`;
  let batch: WorkflowExecutionInfo[] = [];
  for await (const run of client.workflow.list({ query })) {
    if (signal?.aborted) return;
    if (!matches(run.workflowId)) continue;
    batch.push(run);
    if (batch.length < fetchedAtOnce) continue;
    yield* await fetched(client, batch);
    batch = [];
  }
  yield* await fetched(client, batch);
}

/** Without those that the server has deleted meanwhile. */
async function fetched(client: Client, runs: readonly WorkflowExecutionInfo[]): Promise<Listed[]> {
  const found = await Promise.all(
    runs.map(async ({ type, workflowId, runId, status }): Promise<Listed[]> => {
      try {
        const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        return [{ run: { type, workflowId, runId, running: status.name === 'RUNNING' }, workflowId, history }];
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return [];
        throw error;
      }
    }),
  );
  return found.flat();
}

function problemText({ message }: Error): string {
  const [first = ''] = message.split('\n');
  return first.replace(/^.*Nondeterminism error: /, '').slice(0, longestProblem);
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
