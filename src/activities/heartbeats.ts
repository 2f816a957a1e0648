import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { BundleStore } from '../exports/store/bundle-store.ts';
import { attemptOf, endedEarly } from './attempts.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** Often enough for heartbeat time-outs of a few seconds. */
const beatEveryMs = 1_000;

/**
 * Does `work` with a heartbeat every second, so that a dead worker is noticed quickly and cancellation arrives. Each
 * heartbeat has the latest details, since one without would erase them. A step that succeeds within a second and changes
 * nothing sends none; one that fails sends a last one, with which the next attempt continues. The signal also ends work
 * that Temporal has given up (`whileMine`).
 */
export async function withHeartbeats<Details, Result>(
  details: () => Details,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const attempt = attemptOf(context);
  attempt.details = details;
  const timer = setInterval(() => attempt.beat(), beatEveryMs);
  try {
    return await work(attempt.signal);
  } catch (error) {
    attempt.beat();
    if (!attempt.signal.aborted) throw error;
    throw wasCancelled() ? new CancelledFailure('cancelled') : endedEarly();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Resolves if Temporal still counts on this attempt: a heartbeat was accepted a moment ago. Throws when Temporal has given
 * it up (cancelled, terminated, reset, timed out, paused). While Temporal does not answer, neither is known: waits until it
 * does, or a time-out ends the attempt. An activity within a workflow task is short, and goes on.
 */
export async function stillMine(deps: Pick<ActivityDependencies, 'recordHeartbeat'>): Promise<void> {
  const context = Context.current();
  if (!context.info.isLocal) await attemptOf(context).confirm(deps);
}

/** What changes nothing in the bundle store. */
const bundleReaders: (keyof BundleStore)[] = [
  'stagingFile',
  'staged',
  'current',
  'manifest',
  'versions',
  'withArchive',
  'urlOf',
  'verificationKeys',
  'rolledOut',
  'observed',
  'inService',
  'domains',
  'inventory',
  'open',
  'checkWritable',
];

/**
 * The same dependencies for activities: an attempt changes something outside only while it is `stillMine`, which is asked
 * immediately before each change (E11). The last word on a version and on the pointer is asked within the store's method, that
 * on a target by the guard of its step.
 */
export function whileMine(deps: ActivityDependencies): ActivityDependencies {
  const confirm = () => stillMine(deps);
  const { bundles, organizations, feedback, permits, deliver, postponeRefresh } = deps;
  return {
    ...deps,
    bundles: confirming(bundles, except(bundleReaders), confirm, {
      holds: confirming(bundles.holds, except(['of']), confirm),
      async publish(stageId, version, seal, work) {
        await confirm();
        return bundles.publish(stageId, version, seal, { ...work, confirm });
      },
      moveCurrent: (domain, version, epoch, at) =>
        bundles.moveCurrent(domain, version, epoch, at, { since: stepScheduledAt(), confirm }),
    }),
    feedback: confirming(feedback, except(feedback.readers), confirm),
    permits: confirming(permits, (name) => name === 'ask', confirm),
    async deliver(delivery) {
      await confirm();
      await deliver(delivery);
    },
    async postponeRefresh(org, at) {
      await confirm();
      await postponeRefresh(org, at);
    },
    organizations: organizations.map((organization) => ({
      ...organization,
      service: confirming(organization.service, (name) => name === 'startExportJob', confirm),
    })),
  };
}

/** Selects all methods but these: a store's new method needs confirmation until it is listed as one that only reads. */
const except =
  (readers: readonly string[]) =>
  (name: string): boolean =>
    !readers.includes(name);

/** The same object, except that `confirm` comes before each method that `asks` selects, and that `replaced` parts differ. */
function confirming<T extends object>(
  what: T,
  asks: (name: string) => boolean,
  confirm: () => Promise<void>,
  replaced: Partial<T> = {},
): T {
  return new Proxy(what, {
    get(_, name) {
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof T];
      const value: unknown = Reflect.get(what, name, what);
      if (typeof value !== 'function') return value;
      if (!asks(String(name))) return value.bind(what);
      return async (...args: unknown[]) => {
        await confirm();
        return value.apply(what, args);
      };
    },
  });
}

/**
 * From a reset on, attempts of the run before it move the site's pointer no more: their steps were scheduled earlier. The
 * first run of an execution needs no claim, since nothing of it went on before. `stageId` is that run's.
 */
export async function claimSite(
  { bundles }: Pick<ActivityDependencies, 'bundles'>,
  { domain, stageId }: { domain: string; stageId: string },
): Promise<void> {
  if (Context.current().info.workflowExecution?.runId !== stageId) await bundles.claim(domain, stepScheduledAt());
}

/** When Temporal first scheduled the step, by its clock: the same for every attempt. */
const stepScheduledAt = () => new Date(Context.current().info.scheduledTimestampMs);

/** Whether the step was aborted because of a cancellation, which is final: after any other end another attempt continues. */
function wasCancelled(): boolean {
  const { cancellationDetails } = Context.current();
  if (cancellationDetails) return cancellationDetails.cancelRequested;
  return attemptOf(Context.current()).signal.reason instanceof CancelledFailure;
}

/** Whether this worker shuts down: Temporal still counts on what the attempt returns now. */
export function isShuttingDown(): boolean {
  return Context.current().cancellationDetails?.workerShutdown ?? false;
}
