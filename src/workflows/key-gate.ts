import { condition } from '@temporalio/workflow';
import { keyTryDelay, type RefusedKey } from '../model/budget/key-tries.ts';
import { clockTime } from '../model/details-text.ts';
import { failureType } from './failure-summary.ts';

/** Sits out a refused key (401): the step is tried again a minute later, then ever later, or when told (architecture.md). */
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

  /** The step's result; its failures other than `Unauthorized` pass through. */
  async through<T>(step: () => Promise<T>): Promise<T> {
    let since: number | null = null;
    for (let refusals = 1; ; refusals += 1) {
      // A change of the key may overtake the refusal: it counts from the step on.
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
