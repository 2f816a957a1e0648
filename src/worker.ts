import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  type Client,
} from '@temporalio/client';
import type { WorkerDeploymentVersion } from '@temporalio/common';
import {
  type ActivityInterceptorsFactory,
  NativeConnection,
  type State,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import type { Logger } from 'pino';
import type { HeartbeatAnswer } from './activities/attempts.ts';
import { createActivities } from './activities/index.ts';
import { budgetClientOf, budgetView, retryKeys } from './budget/client.ts';
import type { WindowView } from './budget/rules/window-view.ts';
import type { Config } from './config/config.ts';
import { limitMachineUse } from './exports/semaphore.ts';
import type { BundleStore } from './exports/store/bundle-store.ts';
import { openBundleStore } from './exports/store/open-bundle-store.ts';
import { requireBrowsers } from './exports/verify/find-browser.ts';
import { feedbackPrivacy } from './feedback/privacy/privacy.ts';
import { completeIndex } from './feedback/search/build-index.ts';
import type { FeedbackStore } from './feedback/store/feedback-store.ts';
import { openFeedbackStore } from './feedback/store/open-feedback-store.ts';
import { installationOf } from './feedback/store/store-lineage.ts';
import { announcePhase } from './operations/exports.ts';
import { organizationsOf } from './organizations.ts';
import { proxyFor } from './rules/proxy.ts';
import { countRefusedRuns, cutRuns, startDelivery, watchedBudget } from './runs/watches.ts';
import { applyWatch, putOffRefresh } from './schedules/schedules.ts';
import { urgently } from './semaphore.ts';
import {
  connectClient,
  connectOptions,
  failoverFor,
  isOutage,
  renewConnection,
  TemporalUnreachable,
  temporalProxy,
} from './temporal/connection.ts';
import { workerConverter, workflowCode } from './temporal/encryption.ts';
import { installRuntime, type Metrics, metricsOfRuntime } from './temporal/metrics.ts';
import {
  bulkQueueOf,
  checksQueueOf,
  type Failover,
  failoverTimes,
  urgentQueueOf,
  type WorkKind,
  workKinds,
} from './temporal/rules/failover.ts';
import { untilAllDone } from './temporal/runs.ts';
import { activityTraces, isTracing, workflowTraces } from './temporal/traces.ts';
import { countedService, watchSharedState, zeroMetrics } from './worker-metrics.ts';

/** The workers of this process. */
export interface RunningWorker {
  readonly taskQueues: readonly string[];
  /** `RUNNING` as long as all of them take work, else the state of one that does not. */
  state(): State;
  /** Settles when all have stopped; rejects when one has failed, which stops the others. */
  readonly done: Promise<void>;
  /** Lets running activities finish for a while, then hands them back to Temporal. */
  stop(): Promise<void>;
}

function runTogether(workers: readonly Worker[]): RunningWorker {
  const shutDown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const run = async () => {
    const runs = await Promise.allSettled(workers.map((worker) => worker.run().finally(shutDown)));
    // Not before all have ended: they share resources that are closed then.
    const failure = runs.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
  };
  const done = run();
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

/** Opens the configured stores and checks that they are writable. The caller closes the feedback store. */
async function openStores(config: Config): Promise<{ feedback: FeedbackStore; bundles: BundleStore }> {
  const bundles = await openBundleStore(config.store.bundles);
  await bundles.checkWritable();
  return { bundles, feedback: await openFeedbackStore(config.store.feedback, feedbackPrivacy(config.privacy)) };
}

/** Steps that a person waits for (rollbacks, after approvals) find a slot when downloads take all others. */
const urgentStepsAtOnce = 10;

/** Short steps wait for the service, Temporal or the database: they need slots, but neither processors nor memory. */
const shortStepsAtOnce = 400;
/** Checks wait for readers' pages, each for minutes. */
const checksAtOnce = 400;

export interface WorkerSettings {
  log: Logger;
  workflowBundle?: WorkerOptions['workflowBundle'];
  /** Takes only work of this kind; others run on another machine. */
  only?: WorkKind;
  /** `ip:port` at which this process serves metrics to Prometheus. */
  metricsAddress?: string;
  /** The build of a Worker Deployment that this worker is; without it Temporal's versioning is off (upgrading.md). */
  version?: WorkerDeploymentVersion;
}

/**
 * Starts a worker from the configuration: stores, service clients, budget, activities and workflows. Throws when a
 * store cannot be opened, a browser is missing (`BrowserUnusable`) or Temporal does not answer (`TemporalUnreachable`).
 */
export async function startWorker(config: Config, settings: WorkerSettings): Promise<RunningWorker> {
  installRuntime(settings.log, settings.metricsAddress);
  const opened: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of opened.splice(0).reverse()) await close();
  };
  try {
    const kinds = workKinds.filter((kind) => (settings.only ?? kind) === kind);
    if (kinds.includes('bulk')) await requireBrowsers(config);
    limitMachineUse(config.worker);
    const stores = await openStores(config);
    opened.push(() => stores.feedback.close());
    if (kinds.includes('short')) await applyPrivacy(stores.feedback, settings.log);
    const client = await connectClient(config.temporal);
    opened.push(() => client.connection.close());
    const options = connectOptions(config.temporal).connection;
    let connection = await connectNatively(options);
    opened.push(() => connection.close());
    const parts = { stores, client, connection, metrics: metricsOfRuntime() };
    const workers = await createWorkers(config, settings, kinds, parts);
    const renew = async (renewed: typeof options) => {
      const former = connection;
      connection = await connectNatively(renewed);
      for (const worker of workers) worker.connection = connection;
      await former.close();
    };
    const keepOld = (error: unknown) =>
      settings.log.warn(
        { err: error },
        'the worker keeps its connection: the changed key or certificate is of no use yet',
      );
    opened.push(renewConnection(config.temporal, options, renew, keepOld));
    if (settings.metricsAddress) opened.push(watchShared(config, parts));
    const running = runTogether(workers);
    const done = running.done.finally(closeAll);
    const stop = async () => {
      await running.stop();
      await done;
    };
    return { ...running, done, stop };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Applies changed privacy settings to stored data before the worker reads anything new. */
async function applyPrivacy(feedback: FeedbackStore, log: Logger): Promise<void> {
  const treated = await feedback.applyPrivacy(new Date());
  if (treated.entries + treated.rejects > 0)
    log.info(treated, 'personal data in the store now follows the privacy settings');
}

interface Parts {
  stores: Awaited<ReturnType<typeof openStores>>;
  client: Client;
  connection: NativeConnection;
  metrics: Metrics;
}

/** Shows budgets and freshness among this process's metrics; returns what ends that. */
function watchShared({ organizations }: Config, { stores, client, metrics }: Parts): () => Promise<void> {
  const state = {
    organizations: organizations.map(({ id, projects }) => ({ id, projects: projects.map((project) => project.id) })),
    readWindow: (org: string) => client.withDeadline(Date.now() + readWithinMs, () => budgetView(client, org)),
    async readRecords(org: string, projects: readonly string[]) {
      const wanted = projects.map((project) => ({ org, project }));
      return (await stores.feedback.latestRecords({ sites: [], projects: wanted })).projects;
    },
    async readDelays(org: string, window: WindowView) {
      const organization = organizations.find(({ id }) => id === org);
      return organization ? stores.feedback.refreshDelays(organization, window, Date.now()) : new Map();
    },
  };
  return watchSharedState(state, metrics);
}

async function createWorkers(
  config: Config,
  settings: WorkerSettings,
  kinds: readonly WorkKind[],
  { stores, client, connection, metrics }: Parts,
): Promise<Worker[]> {
  const { taskQueue } = config.temporal;
  const failover = failoverFor(config.temporal);
  const permits = budgetClientOf(client, config, (work) => work(stores.feedback), installationOf(stores.feedback));
  const organizations = organizationsOf(config).map((organization) => ({
    ...organization,
    service: countedService(organization.service, organization.id, metrics),
  }));
  zeroMetrics(metrics, organizations);
  const activities = createActivities({
    organizations,
    feedback: stores.feedback,
    bundles: stores.bundles,
    keepVersions: config.store.keep,
    permits,
    linkPolicy: {
      allowInsecure: config.service.allowInsecure,
      linkHosts: config.service.linkHosts,
      proxyFor: (url) => proxyFor(url, process.env),
    },
    metrics,
    deliver: (delivery) => startDelivery(client, delivery, { taskQueue, failover }),
    outlook: {
      budget: (org) => client.withDeadline(Date.now() + readWithinMs, () => watchedBudget(client, org)),
      refusedRuns: (org) => countRefusedRuns(client, org),
      cutRuns: (org, since) => cutRuns(client, taskQueue, org, since),
    },
    async postponeRefresh(org, nextDueAt) {
      const organization = config.organizations.find(({ id }) => id === org);
      if (organization) await putOffRefresh(client, taskQueue, organization, { failover, nextDueAt });
    },
    announcePhase: (workflowId, phase) => announcePhase(client, workflowId, phase),
    recordHeartbeat: (taskToken, details) =>
      client.withDeadline(Date.now() + heartbeatWithinMs, () => heartbeat(client, taskToken, details)),
  });
  const common = {
    connection,
    namespace: client.options.namespace,
    dataConverter: workerConverter(config.temporal, client),
    activities,
    interceptors: { activity: [activityTraces] },
    ...(isTracing() && { sinks: workflowTraces }),
    ...versioned(settings.version),
  };
  const workers: Worker[] = [];
  for (const kind of kinds) {
    for (const queue of queuesOf(kind, config, settings, common.interceptors.activity)) {
      workers.push(await Worker.create({ ...common, ...timesFor(failover, kind), ...queue }));
    }
  }
  if (kinds.includes('short')) {
    // The budgets are workflows of this worker, so they take over the configuration once it runs.
    const stopped = () => workers.every((worker) => worker.getState() === 'STOPPED');
    void untilAllDone(
      config.organizations,
      async ({ id: org, budget }) => {
        const { configuredAt } = await client.withDeadline(Date.now() + configuredWithinMs, () =>
          permits.configure(org),
        );
        if ((configuredAt ?? 0) > budget.configuredAt) {
          settings.log.warn({ org }, 'the budget keeps its settings: another worker has a newer configuration file');
        }
      },
      {
        onFailure: ({ id: org }, error) =>
          settings.log.warn({ err: error, org }, 'the budget has not taken over its configuration yet'),
        stopped,
      },
    );
    // This worker may have other keys than the previous one: one search finds what waits for any of them.
    void untilAllDone([new Set(config.organizations.map(({ id }) => id))], (orgs) => retryKeys(client, orgs), {
      onFailure: (_, error) =>
        settings.log.warn({ err: error }, 'what waits for a key has not been asked to try it yet'),
      stopped,
    });
    void completeIndex({
      store: stores.feedback,
      onFailure: (error) => settings.log.warn({ err: error }, 'indexing failed; will retry'),
      stopped,
    });
    void untilAllDone(
      organizations,
      ({ id, watchEveryMs }) => applyWatch(client, taskQueue, { id, everyMs: watchEveryMs }, failover),
      {
        onFailure: ({ id: org }, error) =>
          settings.log.warn({ err: error, org }, 'the organization is not watched yet'),
        stopped,
      },
    );
  }
  return workers;
}

async function heartbeat(client: Client, taskToken: Uint8Array, details: unknown): Promise<HeartbeatAnswer> {
  try {
    await client.activity.heartbeat(taskToken, details);
    return 'accepted';
  } catch (error) {
    if (error instanceof ActivityCancelledError) return 'cancelled';
    const isOver = [ActivityNotFoundError, ActivityPausedError, ActivityResetError].some(
      (type) => error instanceof type,
    );
    if (isOver) return 'over';
    if (isOutage(error)) return 'unreachable';
    throw error;
  }
}

/** Settings that let another worker take over a dead one's work in time. */
function timesFor(failover: Failover, kind: WorkKind) {
  const { stickyTimeoutMs, heartbeats } = failoverTimes(failover);
  return {
    stickyQueueScheduleToStartTimeout: stickyTimeoutMs,
    maxHeartbeatThrottleInterval: heartbeats[kind].everyMs,
    shutdownGraceTime: '5s',
    shutdownForceTime: '15s',
  } satisfies Partial<WorkerOptions>;
}

/** Workflows move on with their next step when another build becomes current, unless they say otherwise. */
function versioned(version: WorkerDeploymentVersion | undefined): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (version === undefined) return {};
  return { workerDeploymentOptions: { useWorkerVersioning: true, version, defaultVersioningBehavior: 'AUTO_UPGRADE' } };
}

/** Each kind of work has its own task queues and slots, so that neither starves the other (operations.md). */
function queuesOf(
  kind: WorkKind,
  { temporal, worker }: Config,
  settings: WorkerSettings,
  interceptors: readonly ActivityInterceptorsFactory[],
): (Partial<WorkerOptions> & { taskQueue: string })[] {
  const { taskQueue } = temporal;
  if (kind === 'short') {
    const workflowBundle = workflowCode(temporal, settings.workflowBundle);
    return [{ taskQueue, maxConcurrentActivityTaskExecutions: shortStepsAtOnce, workflowBundle }];
  }
  const ahead: ActivityInterceptorsFactory = () => ({
    inbound: { execute: (input, next) => urgently(() => next(input)) },
  });
  return [
    { taskQueue: bulkQueueOf(taskQueue), maxConcurrentActivityTaskExecutions: worker.downloads },
    { taskQueue: checksQueueOf(taskQueue), maxConcurrentActivityTaskExecutions: checksAtOnce },
    // The same steps as of `bulk`, which wait for no slot that others have taken.
    {
      taskQueue: urgentQueueOf(taskQueue),
      maxConcurrentActivityTaskExecutions: urgentStepsAtOnce,
      maxConcurrentActivityTaskPolls: 2,
      interceptors: { activity: [...interceptors, ahead] },
    },
  ];
}

/** A budget that takes longer gets the configuration again. */
const configuredWithinMs = 15_000;
/** A heartbeat that takes longer is sent again. */
const heartbeatWithinMs = 5_000;
/**
 * A budget that does not answer a query in time is asked again with the next reading. It may be on the worker that asks, and
 * that worker stops: then nothing answers, and a look that waits on would keep the worker from stopping.
 */
const readWithinMs = 5_000;

async function connectNatively(options: ReturnType<typeof connectOptions>['connection']): Promise<NativeConnection> {
  try {
    const proxy = temporalProxy(options.address, process.env);
    return await NativeConnection.connect({ ...options, ...(proxy && { proxy }) });
  } catch {
    throw new TemporalUnreachable(options.address);
  }
}
