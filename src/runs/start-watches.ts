import { setTimeout as sleep } from 'node:timers/promises';
import { inBatches } from '../temporal/in-batches.ts';

/** Watches that are started at a time. */
const atOnce = 8;
const againAfterMs = 5_000;

export interface StartWatches {
  start(org: string): Promise<void>;
  /** A watch could not be started; it is tried again. */
  onFailure(org: string, error: unknown): void;
  stopped(): boolean;
}

/**
 * Starts the watches of these organizations, a few at a time, and continues until the last has started or the worker
 * stops.
 */
export async function startWatches(orgs: readonly string[], how: StartWatches, waitMs = againAfterMs): Promise<void> {
  let left = [...orgs];
  while (!how.stopped() && left.length > 0) {
    const started = await inBatches(left, atOnce, (org) =>
      how.start(org).then(
        () => true,
        (error: unknown) => {
          if (!how.stopped()) how.onFailure(org, error);
          return false;
        },
      ),
    );
    left = left.filter((_, index) => !started[index]);
    if (left.length > 0) await sleep(waitMs, undefined, { ref: false });
  }
}
