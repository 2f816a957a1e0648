import type { ActivityOptions } from '@temporalio/workflow';

/*
 * Options of activities, one block for each kind of step. Every block is whole: options given with a call replace those
 * of its proxy.
 */

/** Work that beats every second: a dead worker is noticed in seconds, and a cancellation is waited out. */
const watched = {
  heartbeatTimeout: '3s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;

/** Outages are sat out as long as the step's whole time lasts. */
const patiently = { initialInterval: '1s', maximumInterval: '1m' } satisfies ActivityOptions['retry'];

/** The store's own transactions: short, so that a dead worker costs seconds, and tried for long. */
export const recordOptions = {
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;

/** One request to the service that may be repeated at will. */
export const requestOptions = {
  ...watched,
  startToCloseTimeout: '90s',
  scheduleToCloseTimeout: '6h',
  retry: patiently,
} satisfies ActivityOptions;

/**
 * One request that may not. Temporal tries again only what surely did not arrive; a worker that died in the middle
 * leaves that open, so its time-outs end the step.
 */
export const startOptions = {
  ...requestOptions,
  retry: { ...patiently, nonRetryableErrorTypes: ['TemporalTimeout:StartToClose', 'TemporalTimeout:Heartbeat'] },
} satisfies ActivityOptions;

/** Link, download and verification: long, and given up after a day. */
export const fetchOptions = {
  ...watched,
  startToCloseTimeout: '12h',
  scheduleToCloseTimeout: '24h',
  retry: { ...patiently, maximumAttempts: 100 },
} satisfies ActivityOptions;

/** Steps in the bundle store that copy nothing, but make a large bundle durable or read large manifests. */
export const storeOptions = {
  ...watched,
  startToCloseTimeout: '15m',
  scheduleToCloseTimeout: '6h',
  retry: patiently,
} satisfies ActivityOptions;

/** As `storeOptions`, for a version that is read whole, from a bucket perhaps. */
export const wholeVersionOptions = { ...storeOptions, startToCloseTimeout: '1h' } satisfies ActivityOptions;

/** A target that fails a few times is reported as failed; the others go on. */
export const rolloutOptions = {
  ...watched,
  startToCloseTimeout: '1h',
  scheduleToCloseTimeout: '2h',
  retry: { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 4 },
} satisfies ActivityOptions;

/** Requests to the service under a lease: outages are sat out for a day, because nothing is lost by waiting. */
export const pageOptions = {
  ...watched,
  startToCloseTimeout: '5m',
  scheduleToCloseTimeout: '24h',
  retry: patiently,
} satisfies ActivityOptions;
