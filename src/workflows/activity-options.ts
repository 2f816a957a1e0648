import { type ActivityOptions, type LocalActivityOptions, workflowInfo } from '@temporalio/workflow';
import { bulkQueueOf, handoverTimes } from '../temporal/rules/failover.ts';
import { runHandover } from './handover.ts';

/*
 * Options of activities, one complete block for each kind of step: options given with a call replace those of its proxy.
 * What depends on the run is a getter, which `{ ...options, summary }` reads anew for each step.
 */

/** Work with a heartbeat: a dead worker is noticed as the run's handover says, and a cancellation waits for its clean-up. */
const watched = <Options extends ActivityOptions>(options: Options) => ({
  ...options,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED' as const,
  get heartbeatTimeout() {
    return handoverTimes(runHandover()).heartbeats.short.timeoutMs;
  },
});

/** The same on the task queue of long and heavy work, which must not delay short steps. */
const heavy = <Options extends ActivityOptions>(options: Options) => ({
  ...options,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED' as const,
  get heartbeatTimeout() {
    return handoverTimes(runHandover()).heartbeats.bulk.timeoutMs;
  },
  get taskQueue() {
    return bulkQueueOf(workflowInfo().taskQueue);
  },
});

/** Outages are waited out for as long as the step may take altogether. */
const patiently = { initialInterval: '1s', maximumInterval: '1m' } satisfies ActivityOptions['retry'];

/**
 * The feedback store's transactions, and what the configuration says: short, so that a dead worker costs seconds, and
 * tried for an hour. Limited by attempts, so that none fails because it waited for a worker.
 */
export const recordOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '30s', maximumAttempts: 125 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;

/** Steps of milliseconds within a workflow task: tried once, then as separate tasks. */
export const passingOptions = {
  startToCloseTimeout: '5s',
  retry: { maximumAttempts: 1 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies LocalActivityOptions;

/** The end of a run: tried for half a minute, because a person may wait for it. */
export const endOptions = {
  ...recordOptions,
  retry: { initialInterval: '500ms', maximumInterval: '5s', maximumAttempts: 9 },
} satisfies ActivityOptions;

/** The row of an ended run that could not be written at its end: nothing waits for it, so it is tried for a day. */
export const lateRecordOptions = {
  ...recordOptions,
  retry: { initialInterval: '10s', maximumInterval: '5m', maximumAttempts: 290 },
} satisfies ActivityOptions;

const requestTimes = { startToCloseTimeout: '90s', scheduleToCloseTimeout: '6h', retry: patiently } as const;

/** One request to the service that may be repeated. */
export const requestOptions = watched(requestTimes);

/**
 * One request that may not be repeated, unless it certainly did not arrive. A worker that died in the middle leaves that
 * open, so time-outs end the step.
 */
export const startOptions = watched({
  ...requestTimes,
  retry: { ...patiently, nonRetryableErrorTypes: ['TemporalTimeout:StartToClose', 'TemporalTimeout:Heartbeat'] },
});

/** Link, download and verification: given up after a day. */
export const fetchOptions = heavy({
  startToCloseTimeout: '12h',
  scheduleToCloseTimeout: '24h',
  retry: { ...patiently, maximumAttempts: 100 },
});

/** Outages of the bundle store are waited out for six hours, not counting the time in the queue. */
const storeRetry = { ...patiently, maximumAttempts: 365 };

/** Steps in the bundle store that copy and read no archive, but perhaps large manifests. */
export const storeOptions = heavy({ startToCloseTimeout: '15m', retry: storeRetry });

/** Like `storeOptions`, for steps that read a whole version, perhaps from a bucket. */
export const wholeVersionOptions = heavy({ startToCloseTimeout: '1h', retry: storeRetry });

/** The activity itself ends with the fourth failure; the limit here is for workers that die of it. */
export const rolloutOptions = heavy({
  startToCloseTimeout: '1h',
  retry: { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 34 },
});

/** Requests to the service under a lease: outages are waited out for a day, because nothing is lost by waiting. */
export const pageOptions = watched({
  startToCloseTimeout: '5m',
  scheduleToCloseTimeout: '24h',
  retry: patiently,
});

/** A check of the key: one attempt, because a second one could be a second request. */
export const keyCheckOptions = {
  scheduleToStartTimeout: '30s',
  startToCloseTimeout: '90s',
  heartbeatTimeout: '10s',
  retry: { maximumAttempts: 1 },
} satisfies ActivityOptions;

/** A message to a webhook: its receiver may be down for a day. */
export const deliveryOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '24h',
  retry: { initialInterval: '2s', backoffCoefficient: 2, maximumInterval: '1h' },
} satisfies ActivityOptions;

/** A look at stores and budget: tried for a while, and then again at the next look's time. */
export const watchOptions = {
  startToCloseTimeout: '2m',
  retry: { initialInterval: '1s', maximumInterval: '1m', maximumAttempts: 60 },
} satisfies ActivityOptions;
