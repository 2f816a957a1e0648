import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createActivities } from './activities/index.ts';
import { BudgetClient } from './client/budget.ts';
import { connectClient, connectOptions, TemporalUnreachable } from './client/connection.ts';
import { announcePhase } from './client/exports.ts';
import type { Config } from './config/config.ts';
import { temporalLogger } from './log.ts';
import { organizationsOf } from './organizations.ts';
import { openStores } from './stores.ts';

export interface RunningWorker {
  /** Settles when the worker has stopped; rejects when it failed. */
  readonly done: Promise<void>;
  /** Lets running activities finish for a while, then hands them back to Temporal. */
  stop(): Promise<void>;
}

/** The build puts the workflows' bundle at the root of `dist`. */
const builtBundle = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

/** Settings by which a dead worker's work moves on within seconds (docs/architecture.md). */
const quickHandover = {
  stickyQueueScheduleToStartTimeout: '1s',
  maxHeartbeatThrottleInterval: '2s',
  shutdownGraceTime: '5s',
  shutdownForceTime: '15s',
} satisfies Partial<WorkerOptions>;

export interface WorkerSettings {
  log: Logger;
  /** Bundle of the workflows' code; the built one by default. */
  workflowBundle?: WorkerOptions['workflowBundle'];
}

/**
 * Starts a worker from the configuration: stores, service clients, budget, activities and workflows. Throws when a
 * store cannot be opened or Temporal does not answer (`TemporalUnreachable`).
 */
export async function startWorker(config: Config, settings: WorkerSettings): Promise<RunningWorker> {
  installRuntime(settings.log);
  const stores = await openStores(config);
  const client = await connectClient(config.temporal);
  const connection = await connectNatively(config);
  const { taskQueue } = config.temporal;
  const budgets = new Map(config.organizations.map(({ id, budget }) => [id, budget]));
  const permits = new BudgetClient(client, taskQueue, budgets);
  const activities = createActivities({
    organizations: organizationsOf(config),
    feedback: stores.feedback,
    bundles: stores.bundles,
    permits,
    linkPolicy: { allowInsecure: config.service.allowInsecure, linkHosts: config.service.linkHosts },
    announcePhase: (workflowId, phase) => announcePhase(client, workflowId, phase),
  });
  const worker = await Worker.create({
    connection,
    namespace: client.options.namespace,
    taskQueue,
    activities,
    ...workflowsFrom(settings),
    ...quickHandover,
  });
  const running = worker.run();
  // The budgets are workflows of this worker: they can take over the configuration only once it runs.
  const configured = Promise.all([...budgets.keys()].map((org) => permits.configure(org)));
  configured.catch((error: unknown) =>
    settings.log.warn({ err: error }, 'a budget could not take over its configuration'),
  );
  const done = running.finally(async () => {
    await stores.feedback.close();
    await Promise.all([client.connection.close(), connection.close()]);
  });
  return {
    done,
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await done;
    },
  };
}

async function connectNatively(config: Config): Promise<NativeConnection> {
  const { connection } = connectOptions(config.temporal);
  try {
    return await NativeConnection.connect(connection);
  } catch {
    throw new TemporalUnreachable(connection.address);
  }
}

function workflowsFrom(settings: WorkerSettings): Pick<WorkerOptions, 'workflowBundle'> {
  if (settings.workflowBundle) return { workflowBundle: settings.workflowBundle };
  if (!existsSync(builtBundle)) throw new Error('the bundle of workflows is missing: run `npm run build`');
  return { workflowBundle: { codePath: builtBundle } };
}

/** The SDK has one runtime a process; the first worker's log is the one. */
let runtimeInstalled = false;
function installRuntime(log: Logger): void {
  if (runtimeInstalled) return;
  runtimeInstalled = true;
  Runtime.install({
    logger: temporalLogger(log),
    telemetryOptions: { logging: { forward: {}, filter: 'temporal_sdk_core=WARN,temporalio=WARN' } },
    shutdownSignals: [],
  });
}
