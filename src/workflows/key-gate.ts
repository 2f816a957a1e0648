import { condition } from '@temporalio/workflow';
import { keyTryDelay, type RefusedKey } from '../model/budget/key-tries.ts';
import { clockTime } from '../model/details-text.ts';
import { failureType } from './failure-summary.ts';

/** Waits out a refused key (401): retries the step after a minute, at growing intervals, or when told (architecture.md). */
export class KeyGate {
  readonly #onChange: (refused: RefusedKey | null) => void;
  #woken = false;

  constructor(onChange: (refused: RefusedKey | null) => void) {
    this.#onChange = onChange;
  }

  /** The key may have been changed. */
  retry(): void {
    this.#woken = true;
  }

  /** The step's result. Failures other than `Unauthorized` pass through. */
  async through<T>(step: () => Promise<T>): Promise<T> {
    let since: number | null = null;
    for (let refusals = 1; ; refusals += 1) {
      // The signal that the key was changed may overtake the refusal, so it counts from the step's start.
      this.#woken = false;
      try {
        return await step();
      } catch (error) {
        if (failureType(error) !== 'Unauthorized') throw error;
        since ??= Date.now();
        await this.#wait({ since, triedAt: Date.now(), nextTryAt: Date.now() + keyTryDelay(refusals) });
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
