import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';

/*
 * Options of activities, one complete block for each kind of step: options given with a call replace those of its proxy.
 */

/** Work with a heartbeat every second: a dead worker is noticed in seconds, and a cancellation waits for its clean-up. */
const watched = {
  heartbeatTimeout: '3s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;

/** Outages are waited out for as long as the step may take altogether. */
const patiently = { initialInterval: '1s', maximumInterval: '1m' } satisfies ActivityOptions['retry'];

/** The feedback store's transactions: short, so that a dead worker costs seconds, and retried for an hour. */
export const recordOptions = {
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;

/** Steps of milliseconds within a workflow task: tried once, then as tasks of their own. */
export const passingOptions = {
  startToCloseTimeout: '5s',
  retry: { maximumAttempts: 1 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies LocalActivityOptions;

/** The end of a run: tried for half a minute, because a person may wait for it. */
export const endOptions = {
  ...recordOptions,
  scheduleToCloseTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '5s' },
} satisfies ActivityOptions;

/** The row of an ended run that could not be written at its end: nothing waits for it. */
export const lateRecordOptions = {
  ...recordOptions,
  scheduleToCloseTimeout: '24h',
  retry: { initialInterval: '10s', maximumInterval: '5m' },
} satisfies ActivityOptions;

/** One request to the service that may be repeated. */
export const requestOptions = {
  ...watched,
  startToCloseTimeout: '90s',
  scheduleToCloseTimeout: '6h',
  retry: patiently,
} satisfies ActivityOptions;

/**
 * One request that may not be repeated, unless it certainly did not arrive. A worker that died in the middle leaves that
 * open, so time-outs end the step.
 */
export const startOptions = {
  ...requestOptions,
  retry: { ...patiently, nonRetryableErrorTypes: ['TemporalTimeout:StartToClose', 'TemporalTimeout:Heartbeat'] },
} satisfies ActivityOptions;

/** Link, download and verification: given up after a day. */
export const fetchOptions = {
  ...watched,
  startToCloseTimeout: '12h',
  scheduleToCloseTimeout: '24h',
  retry: { ...patiently, maximumAttempts: 100 },
} satisfies ActivityOptions;

/** Steps in the bundle store that copy and read no archive, but perhaps large manifests. */
export const storeOptions = {
  ...watched,
  startToCloseTimeout: '15m',
  scheduleToCloseTimeout: '6h',
  retry: patiently,
} satisfies ActivityOptions;

/** As `storeOptions`, for steps that read a whole version, perhaps from a bucket. */
export const wholeVersionOptions = { ...storeOptions, startToCloseTimeout: '1h' } satisfies ActivityOptions;

/** The activity itself ends with the fourth failure; the limit here is for workers that die of it. */
export const rolloutOptions = {
  ...watched,
  startToCloseTimeout: '1h',
  scheduleToCloseTimeout: '2h',
  retry: { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 34 },
} satisfies ActivityOptions;

/** Requests to the service under a lease: outages are waited out for a day, because nothing is lost by waiting. */
export const pageOptions = {
  ...watched,
  startToCloseTimeout: '5m',
  scheduleToCloseTimeout: '24h',
  retry: patiently,
} satisfies ActivityOptions;

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
