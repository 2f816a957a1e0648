import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedbackSearch } from './feedback-search.ts';

const againAfterMs = 30_000;
/**
 * How long to wait before the next step, as a multiple of the last step's time: the process and the database have other
 * work too.
 */
const restOfStep = 2;

export interface CompleteIndex {
  store: Pick<FeedbackSearch, 'indexMore'>;
  /** A step failed; it is tried again. */
  onFailure(error: unknown): void;
  stopped(): boolean;
}

/** Adds what a store from before the index holds, step by step, until it is complete or the worker stops. */
export async function completeIndex(
  { store, onFailure, stopped }: CompleteIndex,
  waitMs = againAfterMs,
): Promise<void> {
  while (!stopped()) {
    const began = performance.now();
    try {
      if ((await store.indexMore()).complete) return;
      await sleep((performance.now() - began) * restOfStep, undefined, { ref: false });
    } catch (error) {
      if (stopped()) return;
      onFailure(error);
      await sleep(waitMs, undefined, { ref: false });
    }
  }
}
