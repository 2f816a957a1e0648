import { setTimeout as sleep } from 'node:timers/promises';
import { inBatches } from '../temporal/in-batches.ts';

/**
 * Budgets that get the configuration at a time: a thousand workflow starts at once would keep a worker from its work.
 */
const atOnce = 16;
const againAfterMs = 5_000;

export interface TakeOver {
  orgs: readonly string[];
  /** Makes a budget follow this worker's configuration. */
  configure(org: string): Promise<void>;
  /** Tells what waits for the keys of these organizations that they may have changed. */
  retryKeys(orgs: ReadonlySet<string>): Promise<void>;
  /** A budget did not answer; it gets the configuration again. */
  onFailure(org: string, error: unknown): void;
  stopped(): boolean;
}

/**
 * Sends the configuration of a worker that has started to all budgets, a few at a time, and then makes everything that
 * waits for a key try it again, with one search for all organizations. Until a budget has taken over its configuration,
 * the previous one applies, so this continues until the last budget has done so or the worker stops.
 */
export async function takeOverBudgets(how: TakeOver, waitMs = againAfterMs): Promise<void> {
  let left = [...how.orgs];
  let retried = new Set<string>();
  while (!how.stopped()) {
    const told = await inBatches(left, atOnce, (org) => succeeds(how, org, () => how.configure(org)));
    for (const [index, org] of left.entries()) if (told[index]) retried.add(org);
    left = left.filter((_, index) => !told[index]);
    // This worker may have other keys than the previous one.
    if (retried.size > 0 && (await succeeds(how, '', () => how.retryKeys(retried)))) retried = new Set();
    if (left.length + retried.size === 0) return;
    await sleep(waitMs, undefined, { ref: false });
  }
}

async function succeeds(how: TakeOver, org: string, work: () => Promise<void>): Promise<boolean> {
  if (how.stopped()) return false;
  try {
    await work();
    return true;
  } catch (error) {
    if (!how.stopped()) how.onFailure(org, error);
    return false;
  }
}
