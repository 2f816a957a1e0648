import type { State, Worker } from '@temporalio/worker';

/** Several workers of this process as one. */
export interface WorkersTogether {
  readonly taskQueues: readonly string[];
  /** `RUNNING` as long as all of them take work, else the state of one that does not. */
  state(): State;
  /** Settles when all have stopped; rejects when one has failed, which stops the others. */
  readonly done: Promise<void>;
  /** Lets running activities finish for a while, then hands them back to Temporal. */
  stop(): Promise<void>;
}

/** Runs workers until they are stopped or one of them fails. */
export function runTogether(workers: readonly Worker[]): WorkersTogether {
  const shutDown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const done = allEnded(workers.map((worker) => worker.run().finally(shutDown)));
  return {
    taskQueues: workers.map(({ options }) => options.taskQueue),
    state: () => workers.map((worker) => worker.getState()).find((state) => state !== 'RUNNING') ?? 'RUNNING',
    done,
    async stop() {
      shutDown();
      await done;
    },
  };
}

/** Rejects with the first failure once all have ended: they share resources that are closed then. */
async function allEnded(runs: readonly Promise<void>[]): Promise<void> {
  const failure = (await Promise.allSettled(runs)).find((run) => run.status === 'rejected');
  if (failure) throw failure.reason;
}
