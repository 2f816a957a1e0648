import type { Config } from '../../config/config.ts';
import { rotateLongLog } from '../../local/dev-server.ts';
import { createLog, type LogPlace, logDestination } from '../../temporal/log.ts';
import type { WorkKind } from '../../temporal/rules/failover.ts';
import { startWorker, type WorkerSettings } from '../../worker.ts';
import { explainFailure } from '../explain-failure.ts';
import { keepHeapLean } from './gc-tuning.ts';
import type { Part } from './running-parts.ts';

/** Where the worker's log goes: a file or stderr. */
/** A worker in this process; its state is `RUNNING` while it takes work. */
interface WorkerPart extends Part {
  state(): string;
  /** The task queues it polls. */
  taskQueues: readonly string[];
}

interface WorkerOptions {
  level?: 'info' | 'warn';
  only?: WorkKind | undefined;
  /** `ip:port` for Prometheus. */
  metricsAddress?: string | undefined;
  version?: WorkerSettings['version'] | undefined;
}

/** Starts a worker, for only one kind of work if so asked. */
export async function startWorkerPart(
  config: Config,
  place: LogPlace,
  { level = 'info', only, metricsAddress, version }: WorkerOptions = {},
): Promise<WorkerPart> {
  if ('file' in place) await rotateLongLog(place.file);
  const log = createLog(logDestination(place), level);
  const worker = await startWorker(config, {
    log,
    ...(only && { only }),
    ...(metricsAddress && { metricsAddress }),
    ...(version && { version }),
  });
  keepHeapLean();
  return {
    name: 'the worker',
    state: () => worker.state(),
    taskQueues: worker.taskQueues,
    ended: worker.done.then(
      () => null,
      (error: unknown) => {
        const failure = explainFailure(error);
        return { ...failure, message: `the worker ended: ${failure.message}` };
      },
    ),
    stop: () => worker.stop(),
  };
}
