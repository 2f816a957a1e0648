import { condition, workflowInfo } from '@temporalio/workflow';
import { keyTryDelay, type RefusedKey } from '../budget/rules/key-tries.ts';
import { clockTime } from '../rules/details-text.ts';
import { failureType } from './failure-summary.ts';

/** How long a key has been refused, and how often. */
export interface KeyRefusals {
  since: number;
  refusals: number;
}

/** The key is still refused and the history has grown long: the run continues as new and tries the step again. */
export class RefusedForLong extends Error {
  override readonly name = 'RefusedForLong';
  readonly refused: KeyRefusals;

  constructor(refused: KeyRefusals) {
    super('the key is still refused');
    this.refused = refused;
  }
}

/** Events of a run before it continues as new: about three days of refusals. */
const eventsPerRun = 3_000;

/** Waits out a refused key (401): retries the step after a minute, at growing intervals, or when told (architecture.md). */
export class KeyGate {
  readonly #onChange: (refused: RefusedKey | null) => void;
  /** Of the run before. */
  #carried: KeyRefusals | null;
  #woken = false;

  constructor(onChange: (refused: RefusedKey | null) => void, carried: KeyRefusals | null) {
    this.#onChange = onChange;
    this.#carried = carried;
  }

  /** The key may have been changed. */
  retry(): void {
    this.#woken = true;
  }

  /** The step's result. Failures other than `Unauthorized` pass through. Throws `RefusedForLong`. */
  async through<T>(step: () => Promise<T>): Promise<T> {
    let refused = this.#carried;
    this.#carried = null;
    for (;;) {
      // The signal that the key was changed may overtake the refusal, so it counts from the step's start.
      this.#woken = false;
      try {
        return await step();
      } catch (error) {
        if (failureType(error) !== 'Unauthorized') throw error;
        refused = { since: refused?.since ?? Date.now(), refusals: (refused?.refusals ?? 0) + 1 };
        const nextTryAt = Date.now() + keyTryDelay(refused.refusals);
        await this.#wait({ since: refused.since, triedAt: Date.now(), nextTryAt });
        const { continueAsNewSuggested, historyLength } = workflowInfo();
        if (continueAsNewSuggested || historyLength >= eventsPerRun) throw new RefusedForLong(refused);
      } finally {
        this.#onChange(null);
      }
    }
  }

  async #wait(refused: RefusedKey): Promise<void> {
    this.#onChange(refused);
    await condition(() => this.#woken, refused.nextTryAt - refused.triedAt, {
      summary: `key refused (401), tried again at ${clockTime(refused.nextTryAt)}`,
    });
  }
}
